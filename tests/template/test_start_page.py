"""What a newcomer's browser finds at the address that a start prints."""

import asyncio
import shutil
from pathlib import Path

import aiohttp
import pytest

from agents.models import SETTINGS
from tests.support.browsing import a_browser, needs_browser
from tests.support.running_host import ROOT, RunningHost

APP = ("function_app.py", "host.json")
GUARD_SECONDS = 30

pytestmark = [
    pytest.mark.slow,
    needs_browser,
    pytest.mark.behaviour("template.start-page"),
]

ASK = """new Promise(done => {
    const form = document.getElementById("composer")
    const ask = setInterval(() => {
        if (form.hidden) return
        clearInterval(ask)
        document.getElementById("message").value = "What is the weather in Paris?"
        form.requestSubmit()
    }, 20)
    setInterval(() => {
        const turn = document.querySelector("[data-end=completed] .markdown")
        turn && done(turn.textContent)
    }, 20)
})"""

SHOWN = """new Promise(done => setInterval(() => {
    const lines = [...document.querySelectorAll("main > details > summary")].map(line => line.textContent)
    lines.length && done(lines.map(line => line.replace(/([A-Z]+)/, "$1 ").split(" ").slice(0, 2).join(" ")))
}, 20))"""


async def test_the_first_page_leads_to_an_answer_that_streams_and_to_every_route(tmp_path: Path) -> None:
    for name in APP:
        shutil.copy(ROOT / name, tmp_path)
    with RunningHost(tmp_path, environ=dict.fromkeys(SETTINGS, "")) as app:
        async with aiohttp.ClientSession(app.origin) as session:
            document = await (await session.get("/api/openapi.json")).json()
        async with a_browser() as browser:
            page = await browser.new_page()
            await page.goto(f"{app.origin}/")
            links = await page.evaluate("[...document.querySelectorAll('ul a')].map(link => link.href)")
            await page.goto(links[0])
            answer = await asyncio.wait_for(page.evaluate(ASK), GUARD_SECONDS)
            await page.goto(links[1])
            shown = await asyncio.wait_for(page.evaluate(SHOWN), GUARD_SECONDS)

    assert answer == "The weather in Paris: partly cloudy, 18 °C."
    operations = [f"{verb.upper()} {path}" for path, item in document["paths"].items() for verb in item]
    assert sorted(shown) == sorted(operations)
