"""`POST ag-ui/{name}`: a run as the protocol's events, messages that join it, and what it refuses."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pydantic
import pytest

from hosting.features.ag_ui.requests import FIELDS
from tests.support.ag_ui import (
    Events,
    Wired,
    answer,
    cancelled,
    events_of,
    folded,
    interrupts,
    kinds,
    resume,
    text_of,
    wanted,
)
from tests.support.joining import both, steered

PAGE = (Path(__file__).parents[4] / "docs" / "reference" / "ag-ui.md").read_text(encoding="utf-8")


@pytest.mark.behaviour("ag-ui.run")
async def test_a_run_is_streamed_as_the_agent_speaks(wired: Wired) -> None:
    """It begins and ends as the protocol has it, with its version and what it used."""
    events = await wired.run(wanted("say one two three"))

    assert kinds(events) == [
        *("RUN_STARTED", "TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END", "RUN_FINISHED"),
    ]
    assert events[0] == {"type": "RUN_STARTED", "threadId": "t", "runId": "r", "protocolVersion": "1.0"}
    assert text_of(events) == "one two three"
    assert events[-1]["outcome"] == {"type": "success"}
    assert events[-1]["usage"] == [{"inputTokens": 3, "outputTokens": 4, "totalTokens": 7}]


@pytest.mark.behaviour("ag-ui.run")
async def test_several_new_messages_and_a_picture_reach_the_model(wired: Wired) -> None:
    """Media in the form of 1.0, and in the one before, which names a file."""
    picture = {"type": "data", "value": "iVBORw0KGgo=", "mimeType": "image/png"}
    parts = [{"type": "text", "text": "see"}, {"type": "image", "source": picture}]
    older = [parts[0], {**picture, "type": "binary", "data": picture["value"], "filename": "a.png"}]
    address = [parts[0], {"type": "image", "source": {"type": "url", "value": "https://a.example/b.gif?c"}}]

    seen = "user text:see data:data:image/png;base64,iVBORw0KGgo="
    assert text_of(await wired.run(wanted(parts, thread="a"))) == seen
    assert text_of(await wired.run(wanted(older, thread="b"))) == seen.replace("data:", "data:a.png:", 1)
    assert "https://a.example/b.gif?c" in text_of(await wired.run(wanted(address, thread="c")))
    assert text_of(await wired.run(wanted("one", "count", thread="d"))) == "2"


@pytest.mark.behaviour("ag-ui.cancel")
async def test_a_cancelled_run_is_an_error_to_a_client_from_before_1_0(wired: Wired) -> None:
    """It knows no such outcome, and would throw."""
    events = await cancelled(wired, wanted("sleep 60", protocolVersion=None))

    assert (events[-1]["type"], events[-1]["code"]) == ("RUN_ERROR", "run_cancelled")


@pytest.mark.behaviour("ag-ui.spellings")
async def test_pythons_spelling_of_the_fields_is_taken(wired: Wired) -> None:
    """As agent-framework's client has them; two that differ are refused."""
    fields = {"thread_id": "t", "run_id": "r", "messages": wanted("say hi")["messages"]}

    assert text_of(await wired.run(fields)) == "hi"
    status, error = await wired.refused({**fields, "threadId": "other"})
    assert (status, error["code"]) == (400, "invalid_field")


@pytest.mark.behaviour("ag-ui.refused")
def test_every_field_has_its_row_on_the_page() -> None:
    assert [name for name in FIELDS if f"`{name}`" not in PAGE] == []


async def test_the_first_event_names_the_run_that_began_this_one(wired: Wired) -> None:
    """It is the client's own, of another agent: nothing of the thread follows from it."""
    events = await wired.run(wanted("hello", parentRunId="r-0"))
    again = await wired.run(wanted("hello", parentRunId=None))
    status, error = await wired.refused(wanted("hello", run="r-2", parentRunId=5))

    assert (events[0]["parentRunId"], text_of(events)) == ("r-0", "echo: hello")
    assert (again[0].get("parentRunId"), text_of(again)) == (None, "echo: hello")
    assert (status, error["code"]) == (400, "invalid_field")


GIVEN = {"id": "m", "role": "user", "content": "x"}


@pytest.mark.behaviour("ag-ui.refused")
@pytest.mark.parametrize(
    ("fields", "status", "code"),
    [
        (wanted(), 400, "missing_message"),
        (wanted(GIVEN, {"id": "a", "role": "assistant", "content": "y"}), 400, "missing_message"),
        (wanted(""), 400, "missing_message"),
        (wanted([]), 400, "missing_message"),
        (wanted([{"type": "text"}]), 400, "missing_message"),
        (wanted("x", messages="x"), 400, "invalid_field"),
        (wanted("x", messages=[5]), 400, "invalid_field"),
        (wanted({**GIVEN, "id": None}), 400, "invalid_field"),
        (wanted({**GIVEN, "content": 5}), 400, "invalid_field"),
        (wanted({**GIVEN, "role": "system"}), 400, "invalid_field"),
        (wanted([{"type": "hologram"}]), 400, "not_served"),
        (wanted([{"type": "image"}]), 400, "invalid_field"),
        (wanted([{"type": "image", "source": {"type": "data", "value": "x"}}]), 400, "invalid_field"),
        (wanted("x", threadId=None), 400, "invalid_field"),
        (wanted("x", run=" "), 400, "invalid_field"),
        (wanted("x", runId=7), 400, "invalid_field"),
        (wanted("x", protocolVersion=1), 400, "invalid_field"),
        (wanted("x", protocolVersio="1"), 400, "unknown_field"),
        (wanted(resume={}), 400, "invalid_field"),
        (wanted(resume=[{"interruptId": "a", "status": "maybe"}]), 400, "invalid_field"),
        (wanted(resume=[{"interruptId": "a", "status": "resolved"}]), 400, "invalid_field"),
        (wanted(resume=[{"interruptId": 5, "status": "cancelled"}]), 400, "invalid_field"),
        (wanted(resume=[{"interruptId": "a", "status": "cancelled"}]), 404, "unknown_approval"),
    ],
)
async def test_what_cannot_be_served_is_an_error_of_the_protocols_shape(
    refusing: Wired, fields: dict[str, Any], status: int, code: str
) -> None:
    """With our code and an HTTP status, before a run has begun."""
    got, error = await refusing.refused(fields)

    assert (got, error["type"], error["code"]) == (status, "RUN_ERROR", code), error
    assert error.keys() == {"type", "message", "code"}


@pytest.mark.behaviour("ag-ui.refused")
@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "Joker", 405, "method_not_allowed"),
        ("POST", "Nobody", 404, "unknown_agent"),
        ("POST", "Joker/runs", 404, "unknown_path"),
        ("DELETE", "", 404, "unknown_path"),
    ],
)
async def test_a_path_that_the_wire_does_not_have_is_refused(
    refusing: Wired, method: str, path: str, status: int, code: str
) -> None:
    answer = await refusing.http.request(method, f"ag-ui/{path}", json=wanted("hello"))

    assert (answer.status_code, answer.json()["code"]) == (status, code)


WORD = {"id": "u-2", "role": "user", "content": "and this"}


async def run(http: httpx.AsyncClient, fields: dict[str, Any]) -> Events:
    return events_of((await http.post("/api/ag-ui/Joker", json=fields)).text)


@pytest.mark.behaviour("ag-ui.steering")
async def test_a_page_is_shown_the_message_that_joined_its_run() -> None:
    """At its place, under the id that its own page gave it, and once for a client that sends its run again.

    Sent again as the next one it is that; and a page that edits the first one takes both back, with the run.
    """
    first = wanted("first")
    async with steered(["ag-ui"]) as (http, working):
        events, word = await both(http, working, run(http, first), run(http, wanted(run="r-2", messages=[WORD])))
        shown = folded(events, first["messages"])
        again = folded(await run(http, {**first, "messages": shown}), shown)
        following = await run(http, wanted(run="r-3", messages=shown[:4]))
        edited = await run(http, wanted(run="r-4", messages=[{**shown[0], "content": "anew"}]))

    roles = ["user", *["assistant", "tool"], "user", *["assistant", "tool"], "assistant"]
    assert [message["role"] for message in shown] == roles
    assert (shown[3], again) == (WORD, shown)
    assert json.loads(shown[-1]["content"])[3] == "user: and this"
    assert word[-1]["result"]["joined"]
    assert json.loads(text_of(following))[-6:-4] == [f"assistant: {shown[-1]['content']}", "user: and this"]
    assert json.loads(text_of(edited)) == ["user: anew", "call", "tool", "call", "tool"]


LARGE = {"color": "red", "shapes": [*range(50)]}


async def streams(wired: Wired) -> dict[str, Events]:
    """Return streams of every kind."""
    asking = await wired.run(wanted("call refund 7, refund 8", thread="a"), "Clerk")
    answers = [answer(one["id"], approved=one is interrupts(asking)[0]) for one in interrupts(asking)]
    first = wanted("say one two", thread="b")
    plain = await wired.run(first)
    return {
        "plain": plain,
        "again": await wired.run(wanted(*folded(plain, first["messages"]), thread="b")),
        "tool": await wired.run(wanted("tool thread_name", thread="c")),
        "asking": asking,
        "answered": [*asking, *await wired.run(resume(*answers, thread="a"), "Clerk")],
        "failed": await wired.run(wanted("fail", thread="d")),
        "state": await wired.run(wanted("paint blue, look", thread="e", state={"color": "red"}), "Painter"),
        "changes": await wired.run(wanted("paint blue, look", thread="f", state=LARGE, parentRunId="r-0"), "Painter"),
        "cancelled": await asyncio.wait_for(cancelled(wired, wanted("sleep 60")), 20),
    }


@pytest.mark.behaviour("ag-ui.types")
async def test_every_stream_is_of_the_protocols_types_and_passes_its_validator(wired: Wired) -> None:
    """With no member that a type does not know, no error and no warning; a refusal is a type of it, too."""
    core: Any = pytest.importorskip("ag_ui.core", reason="ag-ui-protocol is not installed")
    validator: Any = pytest.importorskip("ag_ui_validate", reason="ag-ui-validate is not installed")
    read: pydantic.TypeAdapter[Any] = pydantic.TypeAdapter(core.Event)
    for name, events in (await streams(wired)).items():
        checked = validator.create_validator()
        for event in events:
            assert list(unknown(read.validate_python(event))) == [], (name, event)
            checked.feed(event)
        checked.finalize()
        wrong = [each for each in checked.report().diagnostics if each.severity in ("error", "warning")]
        if name == "answered":  # the call was shown by the run before, as the protocol wants it: it reads one run
            wrong = [each for each in wrong if each.rule != "AGUI207"]
        assert wrong == [], (name, wrong)
    _, error = await wired.refused(wanted("hello", parentRunId=5))
    assert list(unknown(core.RunErrorEvent.model_validate(error))) == []


def unknown(value: Any, where: str = "") -> Iterator[str]:
    """Iterate over the members that the types do not know."""
    if isinstance(value, pydantic.BaseModel):
        yield from (f"{where}.{name}" for name in value.__pydantic_extra__ or {})
        for name in type(value).model_fields:
            yield from unknown(getattr(value, name), f"{where}.{name}")
    elif isinstance(value, list):
        for item in value:
            yield from unknown(item, f"{where}[]")
