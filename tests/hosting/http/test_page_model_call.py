"""What the page shows of a model call in a run's timeline."""

from __future__ import annotations

import json
from typing import Any

import pytest
from playwright.async_api import Locator, Page, Route, expect

from tests.hosting.http.browsed_page import (
    IN_A_BROWSER,
    ON_EACH_SCREEN,
    UNWANTED,
    WIDER,
    ask,
    browsed,
    ended,
    faults_of,
)
from tests.support.running_host import RunningHost

HOSTILE = "<img src=x onerror=hacked()>"
REFUSED = "Failed to load resource"
ORDER = "Where is my order A-17?"

pytestmark = IN_A_BROWSER


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


@pytest.mark.behaviour("page.model-call")
async def test_a_call_that_cannot_be_read_says_why_and_is_read_again(host: RunningHost) -> None:
    """The focus goes back to its row; what was cut, changed or not kept is said."""
    text = {"type": "text", "text": "Hi"}
    sent = {"kept": "changed", "messages": [{"role": "user", "contents": [text]}], "earlier_url": None}
    cut = {"type": "tool_result", "call_id": "x", "text": "abc", "characters": 12_345}
    picture, other = {"type": "data", "media_type": "image/png", "bytes": 70}, {"type": "other", "name": "hosted_file"}
    call = {"id": "1", "sent": sent, "received": [{"role": "assistant", "contents": [cut, picture, other]}]}
    problem = {"status": 503, "code": "log_unavailable", "detail": "The log cannot be read. Try again."}
    answers = [(503, problem), (200, call)]

    async def answer(route: Route) -> None:
        status, body = answers.pop(0)
        await route.fulfill(status=status, json=body)

    async with browsed(host.origin, REFUSED) as browser:
        page = await browser.open("#/writer/unreadable-call")
        await ask(page, "hello")
        await ended(page)
        await page.route("**/step?*", answer)
        shown = await opened(page)
        await expect(shown).to_contain_text("The log cannot be read. Try again.")
        await shown.get_by_role("button", name="Try again").press("Enter")
        await expect(page.locator(".model_call summary.line")).to_be_focused()
        await expect(shown).to_contain_text("added others, which are not kept.")
        await expect(values(shown)).to_have_text(
            [
                "UserHi",
                "ResultabcThe first 3 of 12,345 characters.",
                "Modelimage/png, 70 bytes",
                "Modelhosted_file: not shown",
            ]
        )


def described(name: str, *tools: dict[str, Any]) -> dict[str, Any]:
    """Return an agent as the app describes it, with its name as its instructions."""
    parts: dict[str, Any] = {
        "options": {},
        "mcp_servers": [],
        "context_providers": [],
        "response_format": None,
        "model": None,
    }
    return {**parts, "name": name, "instructions": name, "instructions_hidden": False, "tools": list(tools)}


def as_tool(agent: dict[str, Any]) -> dict[str, Any]:
    """Return the tool that an agent is."""
    rules = {"approval": "never", "idempotent": False, "destructive": False, "parameters": {}, "description": ""}
    return {**rules, "name": f"ask_{agent['name']}", "agent": agent}


INNER = described("outer", as_tool(described("inner", as_tool(described("innermost")))))
FLOW = {"kind": "workflow", "instructions_hidden": False, "agents": [described("left"), described("right")]}


@pytest.mark.behaviour("page.model-call")
@pytest.mark.parametrize(
    ("agent", "call_id", "name"),
    [
        (INNER, "2", "outer"),
        (INNER, "1.a/1", "inner"),
        (INNER, "1.a/1.b/3", "innermost"),
        (FLOW, "2.1/step/right/1", "right"),
        (FLOW, "2.1/step/nobody/1", None),
    ],
)
async def test_the_agent_of_a_call_may_be_a_tool_or_in_a_workflow(
    host: RunningHost, agent: dict[str, Any], call_id: str, name: str | None
) -> None:
    """Its own instructions are shown, if the app still has it."""
    at = {"at": "2026-01-01T12:00:00Z", "ended_at": "2026-01-01T12:00:01Z"}
    tools = [("1.a", "ask_inner"), ("1.a", "ask_inner"), ("1.a/1.b", "ask_innermost")]
    steps = [{"kind": "tool_call", **at, "id": id, "tool": tool, "arguments": {}, "result": ""} for id, tool in tools]
    call = {"kind": "model_call", **at, "id": call_id, "tools": [], "usage": {}}
    run = {"run_id": "r" * 32, "status": "success", "created_at": at["at"], "ended_at": at["ended_at"], "usage": {}}
    step = {"id": call_id, "sent": {"kept": "whole", "messages": [], "earlier_url": None}, "received": []}
    async with browsed(host.origin, REFUSED) as browser:
        page = await browser.open("#/writer")
        await ask(page, "hello")
        await ended(page)
        await page.route("**/timeline", lambda route: route.fulfill(json={**run, "steps": [*steps, call]}))
        await page.route("**/step?*", lambda route: route.fulfill(json=step))
        await page.route("**/agents/writer", lambda route: route.fulfill(json=agent))
        shown = await opened(page)
        await expect(shown).to_contain_text("Nothing is kept.")
        await shown.locator(".more > summary").press("Enter")
        if name is None:
            await expect(shown).to_contain_text("The app does not have this agent now.")
        else:
            await expect(shown.locator(".about pre").first).to_have_text(name)


@pytest.mark.behaviour("page.hostile")
async def test_no_text_of_a_model_call_becomes_more_than_text(host: RunningHost) -> None:
    """Neither what was sent nor what came back, wherever it stands, nor what the agent is now."""
    kinds = ("text", "reasoning", "tool_call", "tool_result", "data", "uri", "other")
    fields = {"text": HOSTILE, "name": HOSTILE, "call_id": HOSTILE, "media_type": HOSTILE, "bytes": 1}
    messages = [{"role": HOSTILE, "contents": [{"type": kind, **fields} for kind in kinds]}]
    call = {"id": "1", "sent": {"kept": HOSTILE, "messages": messages, "earlier_url": None}, "received": messages}

    async def forge(route: Route) -> None:
        answer = await route.fetch()
        text = await answer.text()
        for word in ("Write.", "owner_memory"):
            text = text.replace(f'"{word}"', json.dumps(HOSTILE))
        await route.fulfill(response=answer, body=text)

    async with browsed(host.origin, REFUSED) as browser:
        page = await browser.open("#/writer/hostile-call")
        await page.route("**/agents/writer", forge)
        await page.route("**/step?*", lambda route: route.fulfill(json=call))
        await ask(page, HOSTILE)
        await ended(page)
        shown = await opened(page)
        await expect(values(shown)).to_have_count(14)
        await expect(values(shown).first).to_have_text(f"Tool{HOSTILE}")
        await shown.locator(".more > summary").press("Enter")
        await expect(shown.locator(".about pre").first).to_have_text(HOSTILE)

        assert await page.evaluate(UNWANTED) == []


@pytest.mark.behaviour("page.for-everybody")
@ON_EACH_SCREEN
async def test_an_opened_model_call_stands_in_nobodys_way(host: RunningHost, theme: str, is_phone: bool) -> None:
    """Opened to the agent's tools."""
    async with browsed(host.origin, REFUSED, theme=theme, is_phone=is_phone) as browser:
        page = await browser.open("#/support")
        await ask(page, ORDER)
        await ended(page)
        shown = await opened(page, 1)
        await shown.locator(".more > summary").press("Enter")
        await shown.locator(".about details summary").first.press("Enter")
        await expect(shown.locator(".about details pre").first).to_be_visible()

        assert await faults_of(page) == []
        assert await page.evaluate(WIDER) <= 0
