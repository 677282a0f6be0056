"""The timeline of a run on the page: steps, attempts, model calls that open, and tool calls that were cut off."""

from __future__ import annotations

import asyncio
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from playwright.async_api import Locator, Page, Route, expect

from tests.hosting.http.browsed_page import IN_A_BROWSER, REFUSED, ask, browsed, ended, for_everybody
from tests.support.carriers import GUARD_SECONDS
from tests.support.running_host import ROOT, RunningHost

pytestmark = IN_A_BROWSER

ORDER = "Where is my order A-17?"
MANY_RUNS = 30


@pytest.mark.behaviour("page.timeline")
async def test_a_runs_timeline_has_its_steps_with_lengths_tokens_arguments_and_results(host: RunningHost) -> None:
    """Also while it runs, and in the order in which they came."""
    async with browsed(host.origin, REFUSED) as browser:
        page = await browser.open("#/support/timed")
        await ask(page, "Where is my order A-17?")
        await page.get_by_role("button", name="Timeline").click()
        timeline = page.locator(".timeline")
        await timeline.locator(".tool_call.busy").wait_for()
        await timeline.locator(".ended").wait_for()
        steps = await timeline.locator(".what").all_text_contents()
        lengths = await timeline.locator("li time").all_text_contents()
        await timeline.locator(".tool_call summary").click()
        values = await timeline.locator(".tool_call :is(pre, .values)").all_text_contents()
        await for_everybody(page)
        width = await timeline.locator(".tool_call .bar").evaluate(
            "bar => bar.offsetWidth / bar.parentNode.offsetWidth"
        )
        await page.get_by_role("button", name="Timeline").click()
        await expect(timeline).to_be_hidden()

    assert steps == [
        "Accepted",
        "Attempt 1 996 tokens",
        "Model asks for find_order 498 tokens",
        "find_order",
        "Model answers 498 tokens",
        "Answered",
    ]
    assert all(re.fullmatch(r"\+?[\d.]+( ms| s)?", length) for length in lengths), lengths
    assert [value.split() for value in values] == [
        ["numberA-17"],
        ["Order", "A-17:", "shipped", "on", "Monday"],
    ]
    assert 0.1 < width < 0.9


async def opened(page: Page, number: int = 0, turn: int = 0) -> Locator:
    """Open a model call of a turn by keyboard, and return its content."""
    timeline = page.locator(".timeline").nth(turn)
    if not await timeline.is_visible():
        await page.get_by_role("button", name="Timeline").nth(turn).press("Enter")
    row = timeline.locator(".model_call").nth(number)
    await row.locator("summary.line").press("Enter")
    return row.locator(".call")


def values(call: Locator) -> Locator:
    """Return what is sent and received, with its titles."""
    return call.locator(":scope > section > div")


@pytest.mark.behaviour("page.model-call")
async def test_a_model_call_opens_to_what_was_sent_and_what_came_back(host: RunningHost) -> None:
    """Also the last one; instructions, tools and options are the agent's as it is now, and said to be."""
    async with browsed(host.origin, REFUSED) as browser:
        page = await browser.open("#/support/opened-calls")
        await ask(page, ORDER)
        await ended(page)
        first = await opened(page)
        await expect(values(first)).to_have_text([f"User{ORDER}", "Model calls find_ordernumberA-17"])
        last = await opened(page, 1)
        await expect(values(last)).to_have_count(4)
        await expect(values(last).nth(2)).to_have_text("Result of find_orderOrder A-17: shipped on Monday")
        await expect(values(last).nth(3)).to_contain_text("ModelYour order **A-17** is on its way")
        await expect(last).to_contain_text("As the run's record has them.")
        await last.locator(".more > summary").press("Enter")
        now = last.locator(".about")
        await expect(now).to_contain_text("Those of the call are not kept.")
        await expect(now.locator("pre").first).to_have_text("Help.")
        await expect(now.locator("details b")).to_have_text(["find_order", "refund"])
        await now.locator("details summary").first.press("Enter")
        await for_everybody(page)

        await ask(page, ORDER)
        await ended(page, number=2)
        await expect(await opened(page, turn=1)).to_contain_text("The conversation above, before this run, came first.")


@pytest.mark.behaviour("page.model-call")
async def test_what_is_open_stays_open_while_the_run_goes_on(host: RunningHost) -> None:
    """The call is read once, and keeps the focus; its row is the same when the tool has ended."""
    asked: list[str] = []

    async def count(route: Route) -> None:
        asked.append(route.request.url)
        await route.continue_()

    async with browsed(host.origin, REFUSED) as browser:
        page = await browser.open("#/support/open-while-running")
        await page.route("**/step?*", count)
        await ask(page, ORDER)
        await page.get_by_role("button", name="Timeline").press("Enter")
        await page.locator(".timeline .tool_call.busy").wait_for()
        call = await opened(page)
        await expect(values(call)).to_have_count(2)
        await call.locator("pre").first.focus()
        await page.locator(".timeline .ended").wait_for()

        await expect(values(call)).to_have_count(2)
        await expect(call.locator("pre").first).to_be_focused()
        assert len(asked) == 1
        assert await page.locator(".timeline .tool_call").count() == 1


@pytest.mark.behaviour("page.long")
async def test_timelines_are_read_of_the_turns_in_sight_alone_and_together(host: RunningHost) -> None:
    async with httpx.AsyncClient(base_url=f"{host.origin}/api/agents/writer", timeout=20) as client:
        for _ in range(MANY_RUNS):
            await client.post("/run", json={"message": "fail", "thread_id": "many"})
    held: list[Route] = []
    are_two = asyncio.Event()

    def hold(route: Route) -> None:
        held.append(route)
        if len(held) > 1:
            are_two.set()

    async with browsed(host.origin, REFUSED) as browser:
        page = await browser.open()
        read: set[str] = set()
        page.on("request", lambda request: read.add(request.url) if request.url.endswith("/timeline") else None)
        await page.route("**/timeline", hold)
        await page.goto(f"{host.origin}/api/ui/#/writer/many")
        await asyncio.wait_for(are_two.wait(), 4 * GUARD_SECONDS)
        await page.unroute("**/timeline")  # which lets them go
        async with page.expect_response("**/approvals"):  # of the next look
            pass
        in_sight = len(read)
        async with page.expect_request("**/timeline"):
            await page.evaluate("scrollTo(0, 0)")

    assert 1 < in_sight < MANY_RUNS


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


def copied(folder: Path) -> Path:
    """Return an app of two agents with slow tools, and state of its own."""
    app = Path(shutil.copytree(APP, folder / "app"))
    (app / "function_app.py").write_text(TOOLS)
    return app


@pytest.fixture(scope="module")
def slow_host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningHost]:
    with RunningHost(copied(tmp_path_factory.mktemp("cut_off")), environ=LONG) as started:
        yield started


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
    slow_host: RunningHost, agent: str, how: str, attempt: str
) -> None:
    """As it happens, after a reload, and in the timeline, which says that its work may be done."""
    end = "failed" if how == "timeout" else "cancelled"
    async with browsed(slow_host.origin) as browser:
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
