"""The commands that the page proposes: what is selected or copied works as it is, pasted into a shell."""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
import sys

import httpx
import pytest
from playwright.async_api import Page

from tests.hosting.http.browsed_page import IN_A_BROWSER, ask, browsed, ended
from tests.support.running_host import RunningHost

SPEECH = " ".join(f"word{number}" for number in range(60))
REFUND = 'Call refund with {"order": "A-17", "amount": 120}'
UNKNOWN = "status of 404"  # of a thread that has no message yet
COMMANDS = "Call it from your code"
needs_curl = pytest.mark.skipif(shutil.which("curl") is None, reason="the command uses curl")

pytestmark = IN_A_BROWSER


async def pasted(command: str) -> str:
    """Return what a shell prints of it, which is to be without a fault."""
    shell = ["bash", "-c", command]
    said = await asyncio.to_thread(subprocess.run, shell, capture_output=True, text=True, check=True)
    assert said.stderr == ""
    return said.stdout


async def commands_of(page: Page) -> list[str]:
    """Return the commands that the page shows, and close them again."""
    await page.get_by_label(COMMANDS).click()
    shown = await page.locator("dialog pre").all_inner_texts()
    await page.keyboard.press("Escape")
    return shown


@needs_curl
@pytest.mark.behaviour("page.commands")
@pytest.mark.parametrize("agent", ["assistant", "writer"])
async def test_the_command_of_an_empty_thread_works_when_it_is_selected_and_when_it_is_copied(
    host: RunningHost, agent: str
) -> None:
    """Its line breaks are a part of it."""
    async with browsed(host.origin) as browser:
        await browser.context.grant_permissions(["clipboard-read", "clipboard-write"])
        page = await browser.open(f"#/{agent}")
        await page.locator("#empty code").wait_for()
        selected = await page.evaluate(
            "getSelection().selectAllChildren(document.querySelector('#empty code')), getSelection().toString()"
        )
        await page.locator("#empty").get_by_role("button", name="Copy").click()
        await page.get_by_role("button", name="Copied").wait_for()
        copied = await page.evaluate("navigator.clipboard.readText()")

    assert selected == copied
    for command in (selected, copied):
        assert (await pasted(f"{command} -o /dev/null -w '%{{http_code}}'")) == "200"


@needs_curl
@pytest.mark.behaviour("page.commands")
async def test_a_copied_message_begins_a_run_of_its_own(host: RunningHost) -> None:
    """As it stands, whatever the message has in it: the key by which a lost answer is found again is left out."""
    message = """It's "quoted" \\ and $HOME, `x` 😀"""
    async with browsed(host.origin, UNKNOWN) as browser:
        page = await browser.open("#/writer/copied")
        await ask(page, message)
        await ended(page)
        curl, python = await commands_of(page)

    printed = [await pasted(curl)]
    program = await asyncio.to_thread(subprocess.run, [sys.executable, "-c", python], capture_output=True, text=True)
    printed.append(program.stdout)
    async with httpx.AsyncClient(base_url=f"{host.origin}/api/agents/writer/threads/copied") as client:
        runs = (await client.get("/runs")).json()["runs"]

    for text in printed:
        frames = [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: ")]
        assert frames[-1]["response"] == message
    assert len(runs) == 3


@pytest.mark.behaviour("page.commands")
async def test_what_follows_a_message_does_not_take_its_place_as_a_command(host: RunningHost) -> None:
    """Neither a stop, nor the answer to an approval, nor a reset: a reader sends none of these again."""
    async with browsed(host.origin, UNKNOWN) as browser:
        page = await browser.open("#/writer/stopped")
        await ask(page, SPEECH)
        await page.locator(".markdown", has_text="word3").wait_for()
        await page.get_by_role("button", name="Stop").click()
        await ended(page, "cancelled")
        stopped = await commands_of(page)
        await page.goto(f"{host.origin}/api/ui/#/clerk/answered")
        await ask(page, REFUND)
        await page.get_by_role("button", name="Refuse").click()
        await ended(page, number=2)
        answered = await commands_of(page)
        await page.get_by_label("Reset the thread").click()
        await page.get_by_role("button", name="Reset thread").click()
        await page.get_by_text("No messages yet").wait_for()
        after_reset = await commands_of(page)

    assert ["/agents/writer/run'" in stopped[0], SPEECH in stopped[0]] == [True, True]
    assert ["/agents/clerk/run'" in answered[0], "A-17" in answered[0]] == [True, True]
    assert after_reset == answered
