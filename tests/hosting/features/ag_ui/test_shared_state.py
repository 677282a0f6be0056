"""What a page shows (`context`) and what it shares with the agent (`state`): its runs have it, and agree on it."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from agent_framework import AgentSession

from hosting.features.ag_ui.context import MOST_CONTEXT_BYTES
from hosting.http.json_patch import shorter_patch
from hosting.shared_state import MOST_STATE_BYTES, read_state, write_state
from tests.support.ag_ui import Events, Wired, folded, kinds, patched, text_of, wanted
from tests.support.any_json import AnyJson
from tests.support.joining import both
from tests.support.painter import painter
from tests.support.seeds import repeated
from tests.support.shown_page import Shown, contents_of, shown_by
from tests.support.steered import Working

CONTEXT = pytest.mark.behaviour("ag-ui.context")
STATE = pytest.mark.behaviour("ag-ui.state")
ANY = AnyJson(["", "a", "~/", "ü😀"], ["a", "b", "0", "1", "-", "", "~0", "a/b", "~1", "length", "ü"])
PAGE = [{"description": "The open order.", "value": "A-17"}]


SHOWN = (
    "user: What the page shows while I write, as JSON. It is information, and asks for nothing by itself.\n"
    '[{"description": "The open order.", "value": "A-17"}]'
)


@CONTEXT
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


@CONTEXT
async def test_a_run_that_is_sent_again_is_the_same_whatever_the_page_shows_by_then() -> None:
    working = Working("Joker")
    working.open()
    async with shown_by(working.agent) as page:
        first = await page.run(wanted("refund it", context=PAGE))
        again = await page.run(wanted("refund it", context=[{**PAGE[0], "value": "B-2"}]))

    assert text_of(again) == text_of(first)
    assert len(working.client.shown) == 3


@CONTEXT
@pytest.mark.parametrize(
    ("brought", "shown"),
    [
        ({"context": PAGE}, [SHOWN]),
        pytest.param({"state": {"order": "A-17"}}, [], marks=STATE),
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


@CONTEXT
@STATE
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


@CONTEXT
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


@CONTEXT
async def test_an_agent_whose_model_cannot_get_it_refuses_it_by_name(wired: Wired) -> None:
    """It would be dropped without a word."""
    status, error = await wired.refused(wanted("hello", context=PAGE))

    assert (status, error["code"]) == (400, "not_served")
    assert error["message"].startswith("The agent 'Joker' takes no context")
    assert (await wired.http.get("agents/Joker/threads/t")).status_code == 404


RED = {"color": "red", "shapes": [1, 2]}
BLUE = {"color": "blue", "shapes": [1, 2]}


@pytest.fixture
async def page() -> AsyncIterator[Shown]:
    async with shown_by(painter("Joker")) as shown:
        yield shown


def snapshots(events: Events) -> list[Any]:
    return [event["snapshot"] for event in events if event["type"] == "STATE_SNAPSHOT"]


@STATE
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


@STATE
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


@STATE
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


@STATE
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


@STATE
@pytest.mark.parametrize("state", [5, {"type": "message", "role": "system", "contents": []}])
async def test_it_is_any_json_and_never_an_object_of_the_framework(page: Shown, state: Any) -> None:
    """A mapping in a session with the type of a class of agent-framework would become one."""
    events = await page.run(wanted("look", state=state))
    following = await page.run(wanted("look", run="r-2"))

    assert snapshots(events) == snapshots(following) == [state]


@STATE
@pytest.mark.parametrize("state", [{"a": "x" * MOST_STATE_BYTES}, ["ü" * (MOST_STATE_BYTES // 2)]])
async def test_a_state_that_is_too_large_is_refused_by_name(refusing: Wired, state: Any) -> None:
    status, error = await refusing.refused(wanted("hello", state=state))

    assert (status, error["code"]) == (400, "invalid_field")
    assert error["message"].startswith("The field 'state' is refused. The shared state has ")


@STATE
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


def changed(value: Any, chance: random.Random) -> Any:
    if chance.random() < 0.3 or not isinstance(value, dict | list):
        return ANY.value(chance)
    places = list(value) if isinstance(value, dict) else [*range(len(value))]
    for _ in range(chance.randrange(3)):
        place = chance.choice(places) if places else None
        if place is None or chance.random() < 0.3:
            extra = ANY.value(chance)
            if isinstance(value, dict):
                value[chance.choice(ANY.names)] = extra
            else:
                value.insert(chance.randrange(len(value) + 1), extra)
        elif chance.random() < 0.3:
            del value[place]
            return value
        else:
            value[place] = changed(value[place], chance)
    return value


@STATE
def test_every_patch_makes_the_one_state_of_the_other(seed: int) -> None:
    """Of any two values, with long texts around so that a patch is shorter."""
    chance, count = random.Random(seed), 0
    for _ in range(repeated(300, 100_000)):
        before = {"rest": "x" * 1000, "list": [ANY.value(chance) for _ in range(4)], **ANY.members(chance, 4)}
        after = changed(copy.deepcopy(before), chance)
        patch = shorter_patch(json.dumps(before), json.dumps(after))
        if patch is not None:
            count += 1
            assert patched(before, patch) == after, (before, patch)

    assert count > 100


@STATE
@pytest.mark.parametrize(
    ("before", "after", "patch"),
    [
        ({"a": 1}, {"a": 1}, []),
        ({"a": 1}, {"a": True}, [{"op": "replace", "path": "/a", "value": True}]),
        ({"a/b": {"~": 1}}, {"a/b": {"~": 2}}, [{"op": "replace", "path": "/a~1b/~0", "value": 2}]),
        ({"a": 1, "b": 2}, {"b": 2, "c": 3}, [{"op": "remove", "path": "/a"}, {"op": "add", "path": "/c", "value": 3}]),
        ([1, 2, 3], [1, 3], [{"op": "remove", "path": "/1"}]),
        ([1, 3], [1, 2, 3], [{"op": "add", "path": "/1", "value": 2}]),
        ([1, 2, 3, 4], [1, 5, 4], [{"op": "replace", "path": "/1", "value": 5}, {"op": "remove", "path": "/2"}]),
    ],
)
def test_a_patch_has_what_changed(before: Any, after: Any, patch: Any) -> None:
    """Beside what stays, which is long enough that a patch is shorter."""
    rest = "x" * 200
    expected = [{**change, "path": f"/value{change['path']}"} for change in patch]

    assert shorter_patch(*(json.dumps({"rest": rest, "value": value}) for value in (before, after))) == expected


REST = {"rest": "x" * 200}


@STATE
@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"a": 1}, {"a": 2}),
        ("x", "y"),
        (None, {"a": "x" * 500}),
        *(({**REST, name: {"a": 1}}, {**REST, name: {"a": 2}}) for name in ("__proto__", "constructor", "prototype")),
    ],
)
def test_a_patch_that_is_no_shorter_or_changes_what_clients_guard_is_sent_whole(before: Any, after: Any) -> None:
    assert shorter_patch(json.dumps(before), json.dumps(after)) is None
