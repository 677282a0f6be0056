"""The state that a page and an agent share (`state`): both read and change it, and the thread keeps it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from agent_framework import AgentSession

from hosting.shared_state import MOST_STATE_BYTES, read_state, write_state
from tests.support.ag_ui import Events, Wired, folded, kinds, text_of, wanted
from tests.support.painter import painter
from tests.support.shown_page import Shown, shown_by

pytestmark = pytest.mark.behaviour("ag-ui.state")

RED = {"color": "red", "shapes": [1, 2]}
BLUE = {"color": "blue", "shapes": [1, 2]}


@pytest.fixture
async def page() -> AsyncIterator[Shown]:
    async with shown_by(painter("Joker")) as shown:
        yield shown


def snapshots(events: Events) -> list[Any]:
    return [event["snapshot"] for event in events if event["type"] == "STATE_SNAPSHOT"]


async def test_tools_read_and_change_what_the_page_sent(page: Shown) -> None:
    """The page gets it at the start, and each change behind the result of its call."""
    events = await page.run(wanted("look, paint blue, look", state=RED))

    assert text_of(events) == (
        '{"color": "red", "shapes": [1, 2]} | painted blue | {"color": "blue", "shapes": [1, 2]}'
    )
    assert snapshots(events) == [RED, BLUE]
    shown = [kind for kind in kinds(events) if kind in ("RUN_STARTED", "STATE_SNAPSHOT", "TOOL_CALL_RESULT")]
    assert shown == [
        *("RUN_STARTED", "STATE_SNAPSHOT", "TOOL_CALL_RESULT"),
        *("TOOL_CALL_RESULT", "STATE_SNAPSHOT", "TOOL_CALL_RESULT"),
    ]


@pytest.mark.parametrize("nothing", [None, {}])
async def test_the_thread_keeps_it_for_a_page_that_brings_none(page: Shown, nothing: Any) -> None:
    """Whether the page has the thread's messages, or is another one that knows only its name."""
    first = wanted("paint blue", state=RED)
    before = folded(await page.run(first), first["messages"])
    word = {"id": "u-2", "role": "user", "content": "look"}

    following = await page.run(wanted(run="r-2", messages=[*before, word], state=nothing))
    other = await page.run(wanted("look", run="r-3", state=nothing))

    assert snapshots(following) == snapshots(other) == [BLUE]
    assert kinds(following)[:2] == ["RUN_STARTED", "STATE_SNAPSHOT"]
    assert kinds(other)[:4] == ["RUN_STARTED", *["MESSAGES_SNAPSHOT"] * 2, "STATE_SNAPSHOT"]
    assert text_of(other) == '{"color": "blue", "shapes": [1, 2]}'


async def test_a_page_that_has_a_large_state_gets_what_changed(page: Shown) -> None:
    """Whole first, then as a patch, which is shorter; a page that has nothing of the thread gets it whole."""
    large = {**RED, "shapes": [*range(50)]}
    events = await page.run(wanted("paint blue, look", state=large))
    other = await page.run(wanted("look", run="r-2"))

    assert [event for event in events if event["type"].startswith("STATE")] == [
        {"type": "STATE_SNAPSHOT", "snapshot": large},
        {"type": "STATE_DELTA", "delta": [{"op": "replace", "path": "/color", "value": "blue"}]},
    ]
    assert snapshots(other) == [{**large, "color": "blue"}]


async def test_a_run_that_fails_changes_nothing(page: Shown) -> None:
    """As with the rest of a session: its page gets what it had, and the thread's stays."""
    failed_first = await page.run(wanted("paint blue, ", run="r-0"))
    await page.run(wanted("look", run="r-1", state=RED))
    failed = await page.run(wanted("paint green, ", run="r-2", state=BLUE))
    events = await page.run(wanted("look", run="r-3"))

    assert (failed_first[-1]["type"], failed[-1]["type"]) == ("RUN_ERROR", "RUN_ERROR")
    assert snapshots(failed_first) == [{"color": "blue"}, {}]
    assert snapshots(failed) == [BLUE, {**BLUE, "color": "green"}, BLUE]
    assert snapshots(events) == [RED]


@pytest.mark.parametrize("state", [5, {"type": "message", "role": "system", "contents": []}])
async def test_it_is_any_json_and_never_an_object_of_the_framework(page: Shown, state: Any) -> None:
    """A mapping in a session with the type of a class of agent-framework would become one."""
    events = await page.run(wanted("look", state=state))
    following = await page.run(wanted("look", run="r-2"))

    assert snapshots(events) == snapshots(following) == [state]


@pytest.mark.parametrize("state", [{"a": "x" * MOST_STATE_BYTES}, ["ü" * (MOST_STATE_BYTES // 2)]])
async def test_a_state_that_is_too_large_is_refused_by_name(refusing: Wired, state: Any) -> None:
    status, error = await refusing.refused(wanted("hello", state=state))

    assert (status, error["code"]) == (400, "invalid_field")
    assert error["message"].startswith("The field 'state' is refused. The shared state has ")


def test_a_tool_that_writes_what_is_no_state_gets_an_error() -> None:
    session = AgentSession()
    write_state(session, RED)
    for value in ({"a": object()}, {"a": float("nan")}, "x" * MOST_STATE_BYTES):
        with pytest.raises(ValueError, match="The shared state"):
            write_state(session, value)

    assert read_state(session) == RED
    with pytest.raises(ValueError, match="has no session"):
        write_state(None, RED)
    assert read_state(None) is None
