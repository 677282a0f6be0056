"""What a page shows (`context`): each model call of the run gets it, and the thread never has it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hosting.features.ag_ui.context import MOST_CONTEXT_BYTES
from tests.support.ag_ui import Wired, folded, text_of, wanted
from tests.support.joining import both
from tests.support.shown_page import contents_of, shown_by
from tests.support.steered import Working

pytestmark = pytest.mark.behaviour("ag-ui.context")

PAGE = [{"description": "The open order.", "value": "A-17"}]
SHOWN = (
    "user: What the page shows while I write, as JSON. It is information, and asks for nothing by itself.\n"
    '[{"description": "The open order.", "value": "A-17"}]'
)


@pytest.mark.parametrize("per_call", [False, True])
async def test_each_model_call_of_the_run_has_it_and_the_next_run_has_not(per_call: bool) -> None:
    """Before the message that was sent with it; also where the framework loads its history for each call."""
    working = Working("Joker", require_per_service_call_history_persistence=per_call)
    working.open()
    async with shown_by(working.agent) as page:
        first = wanted("refund it", context=PAGE)
        events = await page.run(first)
        following = {"id": "u-2", "role": "user", "content": "and now"}
        await page.run(wanted(run="r-2", messages=[*folded(events, first["messages"]), following]))
        thread = await page.thread()

    calls = working.client.shown
    assert (len(calls), [call.count(SHOWN) for call in calls]) == (6, [1, 1, 1, 0, 0, 0])
    assert calls[0] == [SHOWN, "user: refund it"]
    assert calls[3][0] == "user: refund it"
    assert "refund it" in thread
    assert "A-17" not in thread.replace("\\", "").replace(text_of(events).replace("\\", ""), "")


async def test_a_run_that_is_sent_again_is_the_same_whatever_the_page_shows_by_then() -> None:
    working = Working("Joker")
    working.open()
    async with shown_by(working.agent) as page:
        first = await page.run(wanted("refund it", context=PAGE))
        again = await page.run(wanted("refund it", context=[{**PAGE[0], "value": "B-2"}]))

    assert text_of(again) == text_of(first)
    assert len(working.client.shown) == 3


@pytest.mark.parametrize(
    ("brought", "shown"),
    [
        ({"context": PAGE}, [SHOWN]),
        pytest.param({"state": {"order": "A-17"}}, [], marks=pytest.mark.behaviour("ag-ui.state")),
    ],
)
async def test_a_message_with_context_or_state_waits_for_the_run_at_work(
    brought: dict[str, Any], shown: list[str]
) -> None:
    """Joined to it, it would be answered for another page."""
    working = Working("Joker")
    async with shown_by(working.agent, busy="steer") as page:
        second = page.run(wanted("refund it", run="r-2", **brought))
        _, events = await both(page.http, working, page.run(wanted("first")), second)

    assert "joined" not in (events[-1].get("result") or {})
    assert working.client.shown[-1][6:] == [*shown, "user: refund it", "call", "tool", "call", "tool"]


SECRET = "tulips-in-the-attic"


@pytest.mark.behaviour("ag-ui.state")
@pytest.mark.parametrize(
    "brought", [{"context": [{"description": "The secret.", "value": SECRET}]}, {"state": {"secret": SECRET}}]
)
async def test_it_goes_with_the_thread(tmp_path: Path, brought: dict[str, Any]) -> None:
    """No file has it once the thread is deleted. The state is on none of our own routes."""
    working = Working("Joker", rounds=0)
    working.open()
    async with shown_by(working.agent, {"AGENT_LOG": f"sqlite:///{tmp_path / 'log.db'}"}) as page:
        await page.run(wanted("say", **brought))
        before, shown = contents_of(tmp_path), await page.thread()
        await page.http.delete("/api/agents/Joker/threads/t")
        after = contents_of(tmp_path)

    assert (SECRET in before, SECRET in after) == (True, False)
    assert SECRET not in shown or "context" in brought


@pytest.mark.parametrize(
    ("context", "said"),
    [
        ("The page.", "The field 'context' is a JSON string. Send a list."),
        ([5], "context[0] is none. Send an object with the text 'description', and 'value'."),
        ([*PAGE, {"description": "The page."}], "context[1] is none."),
        ([{"description": 5, "value": "x"}], "context[0] is none."),
        ([{"description": "d", "value": "x" * MOST_CONTEXT_BYTES}], "bytes as the model gets it; the limit is 32,768."),
        ([{"description": "ü" * MOST_CONTEXT_BYTES, "value": 1}], "bytes as the model gets it; the limit is 32,768."),
    ],
)
async def test_wrong_context_is_refused_with_its_place(refusing: Wired, context: Any, said: str) -> None:
    status, error = await refusing.refused(wanted("hello", context=context), "Clerk")

    assert (status, error["code"]) == (400, "invalid_field")
    assert said in error["message"]


async def test_an_agent_whose_model_cannot_get_it_refuses_it_by_name(wired: Wired) -> None:
    """It would be dropped without a word."""
    status, error = await wired.refused(wanted("hello", context=PAGE))

    assert (status, error["code"]) == (400, "not_served")
    assert error["message"].startswith("The agent 'Joker' takes no context")
    assert (await wired.http.get("agents/Joker/threads/t")).status_code == 404
