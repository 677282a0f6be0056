"""What the page shows of tool calls whose run, or whose process, ended while the tool was running."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from playwright.async_api import Locator, Page, expect

from tests.hosting.http.browsed_page import IN_A_BROWSER, LOST, REFUSED, ask, browsed, ended, for_everybody
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
LEASE_GUARD_MS = 60_000.0

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


async def listed(page: Page) -> list[str]:
    """Open the newest timeline, and return its attempts and tool calls in their order."""
    await page.get_by_role("button", name="Timeline").last.click()
    rows = page.locator(".timeline").last.locator(":is(.attempt, .tool_call) .what")
    await rows.first.wait_for()
    return [re.sub(r" \d+ tokens", "", text) for text in await rows.all_text_contents()]


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


@pytest.mark.behaviour("page.cut-off")
@pytest.mark.parametrize(
    ("message", "how", "steps"),
    [
        (FIND, "completed", ["Attempt 1 its process was lost", "find cut off", "Attempt 2", "find"]),
        (
            BUY,
            "failed",
            ["Attempt 1 its process was lost", "buy cut off", "Attempt 2 run_interrupted"],
        ),
    ],
    ids=["idempotent", "fail"],
)
async def test_each_attempt_of_a_run_that_was_taken_over_shows_its_own_tool_call(
    tmp_path: Path, message: str, how: str, steps: list[str]
) -> None:
    """The process is killed with the tool at work; its call was cut off, and the one that is made again is another."""
    folder, now = copied(tmp_path), "done" if message == FIND else "cut off"
    with RunningHost(folder, environ=LONG) as host:
        async with browsed(host.origin, LOST, REFUSED) as browser:
            page = await browser.open("#/clerk/taken")
            await ask(page, message)
            await expect(calls(page)).to_have_text("running")
            host.process.kill()
            await asyncio.to_thread(host.process.wait)  # its port is free then
            with RunningHost(folder, "--port", host.origin.rpartition(":")[2], environ=SHORT) as other:
                await page.locator(f".turn[data-end={how}]").wait_for(timeout=LEASE_GUARD_MS)
                await expect(calls(page)).to_have_text(now)
                live = await listed(page)
                await page.reload()
                await ended(page, how)
                await expect(calls(page)).to_have_text(now)
                again = await listed(page)
                recorded = await begun_and_ended(other)

    assert live == again == steps
    assert recorded == [step.partition(" ")[2] or "done" for step in steps if not step.startswith("Attempt")]


async def begun_and_ended(host: RunningHost) -> list[str]:
    """Return how each tool call of the thread's run ended, each of which ended in the attempt that it began in."""
    async with httpx.AsyncClient(base_url=f"{host.origin}/api/agents/clerk/threads/taken") as client:
        (run,) = (await client.get("/runs")).json()["runs"]
        steps = (await client.get(f"/runs/{run['run_id']}/timeline")).json()["steps"]
    attempts = [step for step in steps if step["kind"] == "attempt"]
    found = [step for step in steps if step["kind"] == "tool_call"]
    for attempt, call in zip(attempts, found, strict=False):
        assert attempt["at"] <= call["at"] <= call["ended_at"] <= attempt["ended_at"], json.dumps(steps)
    return ["cut off" if call.get("code") == "cut_off" else "done" for call in found]
