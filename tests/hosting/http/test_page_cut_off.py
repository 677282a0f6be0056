"""What the page shows of tool calls whose run, or whose process, ended while the tool was running."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.async_api import Locator, Page, expect

from tests.hosting.http.browsed_page import IN_A_BROWSER, ask, browsed, ended, for_everybody
from tests.support.running_host import ROOT, RunningHost

APP = ROOT / "tests" / "hosting" / "http" / "page_app"
TOOLS = '''
import asyncio, os
from functools import partial

from agent_framework import Agent, tool

import hosting.app
from hosting.offline.model import OfflineChatClient
from hosting.tools import idempotent


async def work(number: str) -> str:
    """Look for it."""
    await asyncio.sleep(float(os.environ["TOOL_SECONDS"]))
    return f"{number} found"


find, buy = idempotent(tool(work, name="find")), tool(work, name="buy")
clerk, hasty = (Agent(OfflineChatClient(), name=name, tools=[find, buy]) for name in ("clerk", "hasty"))
hosting.app.Services = partial(hosting.app.Services, lease_seconds=4.0, margin_seconds=2.0)
app = hosting.app.AgentFunctionApp(agents=[clerk])
app.add_agent(hasty, run_timeout_seconds=3)
'''
LONG, SHORT = {"TOOL_SECONDS": "600"}, {"TOOL_SECONDS": "0.1"}
BUY, FIND = (f'Call {name} with {{"number": "A-17"}}' for name in ("buy", "find"))
MAY_BE_DONE = "while the tool was running. It may have done its work."

pytestmark = IN_A_BROWSER


def copied(folder: Path) -> Path:
    """Return an app of two agents with slow tools, and state of its own."""
    app = Path(shutil.copytree(APP, folder / "app"))
    (app / "function_app.py").write_text(TOOLS)
    return app


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningHost]:
    with RunningHost(copied(tmp_path_factory.mktemp("cut_off")), environ=LONG) as host:
        yield host


def calls(page: Page) -> Locator:
    """Return what the conversation says of its tool calls."""
    return page.locator(".steps .outcome")


@pytest.mark.behaviour("page.cut-off")
@pytest.mark.parametrize(
    ("agent", "how", "attempt"),
    [
        ("clerk", "stop", "Attempt 1 run_cancelled"),
        ("hasty", "timeout", "Attempt 1 run_timed_out"),
    ],
    ids=["stopped", "timed-out"],
)
async def test_a_tool_at_work_when_its_run_ends_was_cut_off(
    host: RunningHost, agent: str, how: str, attempt: str
) -> None:
    """As it happens, after a reload, and in the timeline, which says that its work may be done."""
    end = "failed" if how == "timeout" else "cancelled"
    async with browsed(host.origin) as browser:
        page = await browser.open(f"#/{agent}")
        await ask(page, BUY)
        await expect(calls(page)).to_have_text("running")
        if how == "stop":
            await page.get_by_role("button", name="Stop").click()
        said = await ended(page, end)
        await expect(calls(page)).to_have_text("cut off")
        await page.reload()
        stored = await ended(page, end)
        await expect(calls(page)).to_have_text("cut off")
        await page.locator(".steps summary").click()
        error = await page.locator(".steps pre").last.text_content() or ""
        await page.get_by_role("button", name="Timeline").first.click()
        rows = page.locator(".timeline").first.locator(":is(.attempt, .tool_call) .what")
        await expect(rows).to_contain_text([attempt, "buy cut off"])
        await for_everybody(page)
        bad = await page.locator(".timeline").first.locator(".ended.bad").count()

    assert MAY_BE_DONE in error
    assert ("Stopped" in said, "Stopped" in stored, bad) == ((end == "cancelled",) * 2 + (int(end == "failed"),))
