"""`POST ag-ui/{name}`: a run as the protocol's events, found again by its id, cancelled, failed, refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hosting.features.ag_ui.requests import FIELDS
from tests.support.ag_ui import Wired, cancelled, joined, kinds, text_of, wanted

PAGE = (Path(__file__).parents[4] / "docs" / "reference" / "ag-ui.md").read_text(encoding="utf-8")
IDS = {"threadId": "t", "runId": "r"}


@pytest.mark.behaviour("ag-ui.run")
async def test_a_run_is_streamed_as_the_agent_speaks(wired: Wired) -> None:
    """It begins and ends as the protocol has it, with its version and what it used."""
    events = await wired.run(wanted("say one two three"))

    assert kinds(events) == [
        *("RUN_STARTED", "TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END", "RUN_FINISHED"),
    ]
    assert events[0] == {"type": "RUN_STARTED", **IDS, "protocolVersion": "1.0"}
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


@pytest.mark.behaviour("ag-ui.again")
async def test_a_run_that_is_sent_again_is_the_same_run(wired: Wired) -> None:
    """The agent runs once, and each id is the same."""
    first = joined(await wired.run(wanted("tool thread_name")))
    again = joined(await wired.run(wanted("tool thread_name")))
    status, error = await wired.refused(wanted("something else"))

    assert again == first
    assert (status, error["type"], error["code"]) == (409, "RUN_ERROR", "idempotency_key_reused")
    assert error["message"] == "runId was used for another run of this thread. Send a new id."


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
