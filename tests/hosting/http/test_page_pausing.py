"""On the page: how far a run is, and a run that a person pauses and resumes."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.async_api import expect

from tests.hosting.http.browsed_page import IN_A_BROWSER, ask, browsed, faults_of
from tests.support.running_host import ROOT, RunningHost

APP = ROOT / "tests" / "hosting" / "http" / "page_app"
SOURCE = '''
import asyncio, os
from pathlib import Path

from agent_framework import Agent, tool

import hosting.app
from hosting.offline.model import OfflineChatClient
from hosting.tools import current


@tool
async def read(number: str) -> str:
    """Read it."""
    await current().progress(0.4, "reading <b>page</b> 2")
    while not Path(os.environ["GATE"]).exists():
        await asyncio.sleep(0.02)
    return f"{number} read"


app = hosting.app.AgentFunctionApp(agents=[Agent(OfflineChatClient(), name="clerk", tools=[read])])
'''

pytestmark = IN_A_BROWSER


@pytest.fixture
def gate(tmp_path: Path) -> Path:
    """The file for which the tool waits."""
    return tmp_path / "gate"


@pytest.fixture
def host(tmp_path: Path, gate: Path) -> Iterator[RunningHost]:
    """A host whose tool waits for its gate."""
    app = Path(shutil.copytree(APP, tmp_path / "app"))
    (app / "function_app.py").write_text(SOURCE)
    with RunningHost(app, environ={"GATE": str(gate)}) as host:
        yield host


@pytest.mark.behaviour("page.pausing")
async def test_a_run_says_how_far_it_is_and_is_paused_and_resumed(host: RunningHost, gate: Path) -> None:
    """By one button, which goes with the run; the timeline has how long it stood."""
    async with browsed(host.origin) as browser:
        page = await browser.open("#/clerk")
        await ask(page, 'Call read with {"number": "A-17"}')
        state = page.locator(".turn .state").last
        await expect(state).to_have_text("reading <b>page</b> 2 (40 %)")
        await page.get_by_role("button", name="Pause", exact=True).click()
        await expect(state).to_have_text("Pausing after this step")
        gate.touch()
        await expect(state).to_have_text("Paused")
        await page.get_by_role("button", name="Timeline").last.click()
        await expect(page.locator(".timeline .note").first).to_contain_text("paused")
        faults = await faults_of(page)
        await page.get_by_role("button", name="Resume", exact=True).click()
        await expect(page.locator(".turn .markdown").last).to_contain_text("A-17 read")
        await expect(page.get_by_role("button", name="Pause", exact=True)).to_be_hidden()
        await expect(page.locator(".timeline .paused")).to_contain_text("Paused by hand")

    assert faults == []
