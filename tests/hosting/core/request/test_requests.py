"""How long a caller waits, and what makes two requests the same."""

import json
import math
from typing import Any

import pytest

from hosting.core.request.contents import limits_of
from hosting.core.thread.run_request import StartRun
from hosting.errors import UnsupportedMediaTypeError
from hosting.http.answer_form import answer_form
from hosting.http.run_call import RawRequest, RunCall, Wanted, body_form, parse_run
from hosting.ports import Wait
from hosting.settings import read_settings


def parsed(headers: dict[str, str] | None = None, query: dict[str, str] | None = None, **fields: Any) -> RunCall:
    """Parse a JSON request of these fields."""
    body = json.dumps({"message": "hi", **fields}).encode()
    request = RawRequest({"content-type": "application/json", **(headers or {})}, query or {}, body)
    return parse_run(request, "Joker", limits_of(None, read_settings({})))


def call(headers: dict[str, str] | None = None, query: dict[str, str] | None = None, **fields: Any) -> StartRun:
    """Return the run that such a request starts."""
    return parsed(headers, query, **fields).start


SWITCHES = [
    *[(True, True), (False, False), (1, True), (0, False), ("yes", True), ("NO", False), (" True ", True)],
    *[("0", False), ("y", True), ("On", True), ("n", False), ("off", False), (None, True)],
]


@pytest.mark.parametrize(("value", "is_on"), SWITCHES)
def test_a_wait_and_the_switch_of_tools_are_written_in_many_ways(value: Any, is_on: bool) -> None:
    """As Microsoft's package takes them; an approval's `approved` is true or false and nothing else."""
    assert call(wait_for_response=value).wait.answer is is_on
    assert call(waitForResponse=value).wait.answer is is_on
    assert call(enable_tool_calls=value).request.enable_tool_calls is is_on


def test_the_header_wins_over_the_query_over_the_body_over_prefer() -> None:
    prefer, query = {"prefer": "respond-async"}, {"waitForResponse": "no"}
    header = {**prefer, "x-ms-wait-for-response": "yes"}

    assert call(prefer).wait.answer is False
    assert call(prefer, wait_for_response=True).wait.answer is True
    assert call(prefer, wait_for_response=None).wait.answer is False
    assert call(prefer, query, wait_for_response=True).wait.answer is False
    assert call(header, query, wait_for_response=False).wait.answer is True


@pytest.mark.behaviour("hosting.moves-over")
@pytest.mark.parametrize(
    ("message", "text"), [(42, "42"), (True, "true"), ({"a": ["ä"]}, '{"a": ["ä"]}'), ("hi", "hi")]
)
def test_a_message_may_be_any_value_by_setting(message: Any, text: str) -> None:
    """The agent gets it as its JSON; a string stays itself."""
    limits = limits_of(None, read_settings({"AGENT_MESSAGE_TYPES": "any"}))
    body = json.dumps({"message": message}).encode()

    read = parse_run(RawRequest({"content-type": "application/json"}, {}, body), "Joker", limits)

    assert read.start.request.message == text


@pytest.mark.behaviour("http.busy")
def test_the_query_says_what_becomes_of_a_request_before_the_body_and_the_agent_do() -> None:
    """`null` is as good as none, and the policy makes no other request: its fingerprint is the same."""
    assert [call().busy, call(busy=None).busy, call(busy="reject").busy] == ["queue", "queue", "reject"]
    assert call(query={"busy": "queue"}, busy="reject").busy == "queue"
    assert call(busy="reject").request == call().request
    agents = parse_run(RawRequest({}, {}, b"hi"), "Joker", limits_of(None, read_settings({})), busy="reject")
    assert agents.start.busy == "reject"


@pytest.mark.parametrize(
    ("prefer", "seconds", "answer", "applied"),
    [
        ("", None, True, None),
        ("return=minimal", None, True, None),
        ("respond-async", None, False, "respond-async"),
        ("wait=10", 10.0, True, "wait=10"),
        ('Wait = "10"', 10.0, True, "wait=10"),
        ("respond-async, wait=10", 10.0, True, "respond-async, wait=10"),
        ("wait=0;x=1, respond-async;y", 0.0, True, "wait=0, respond-async"),
        ("wait=99999999999999999999", 999999999.0, True, "wait=999999999"),
    ],
)
def test_prefer_is_read_as_rfc_7240_says(prefer: str, seconds: float | None, answer: bool, applied: str | None) -> None:
    """Unknown preferences are left alone, parameters too."""
    wanted, headers = parsed({"prefer": prefer}).wanted, {} if applied is None else {"Preference-Applied": applied}

    assert wanted == Wanted("json", Wait(seconds, answer), headers)


@pytest.mark.parametrize("prefer", ["wait=1", "respond-async, wait=0", "handling=strict"])
def test_a_reader_of_events_waits_until_the_end(prefer: str) -> None:
    """Whatever it prefers: the stream is the answer, and goes on until then."""
    assert call({"accept": "text/event-stream", "prefer": prefer}).wait == Wait(math.inf)


@pytest.mark.behaviour("http.json-without-its-type")
@pytest.mark.parametrize(
    "text", ["{}", '{"name": "Ada"}', '{"role": "user", "name": "Ada"}', '{"message": ', '["message"]', "{message}"]
)
def test_a_text_that_is_no_request_of_ours_is_the_message(text: str) -> None:
    """JSON may be what the agent is to read: only an object with our fields is taken for a slip."""
    read = parse_run(RawRequest({}, {}, text.encode()), "Joker", limits_of(None, read_settings({})))

    assert read.start.request.message == text


def fingerprint(start: StartRun, agent: str = "Joker") -> str:
    """Return the digest by which a repeated request of an agent is known."""
    return start.request.fingerprint(agent, start.thread_id)


def test_a_fingerprint_is_of_the_request_and_its_thread() -> None:
    """Not of whether the answer is waited for; another agent, thread, message or switch is another request."""
    plain = fingerprint(call())

    assert fingerprint(call({"accept": "text/plain", "prefer": "wait=1"}, wait_for_response=False)) == plain
    schemas = [{"minimum": 1}, {"minimum": True}, {"minimum": 1.0}]
    others = [
        call(thread_id="t"),
        call(message="ho"),
        call(enable_tool_calls=False),
        call(contents=[{"$type": "text", "text": "ho"}]),
        call(response_format={"type": "json_object"}),
        *(call(response_format={"const": schema}) for schema in schemas),
    ]
    assert len({plain, fingerprint(call(), "other"), *map(fingerprint, others)}) == 10


@pytest.mark.parametrize(
    ("accept", "sent", "form"),
    [
        ("", "json", "json"),
        ("", "text", "text"),
        ("*/*", "text", "text"),
        ("application/json", "text", "json"),
        ("text/plain", "json", "text"),
        ("text/html", "json", "text"),
        ("application/*;q=0.2, text/plain;q=0.1", "text", "json"),
        ("application/json;q=0, */*", "json", "json"),
        ("text/event-stream", "json", "events"),
        ("text/event-stream, application/json;q=0.5", "text", "events"),
        ("text/event-stream;q=0.4, application/json;q=0.5", "text", "json"),
        ("text/*", "text", "text"),
        ("*/*", "events", "events"),
        ("application/json;q=high, text/plain;q=0.1", "json", "text"),
        ("TEXT/PLAIN", "json", "text"),
        ("application/json; q=0.5 , text/plain;q = 0.4", "text", "json"),
    ],
)
def test_accept_decides_the_form(accept: str, sent: Any, form: str) -> None:
    """q-values count; ties and no preference are as the request was."""
    assert answer_form(accept, sent) == form


@pytest.mark.parametrize(
    ("content_type", "form"),
    [
        ("", "text"),
        ("application/json", "json"),
        ("Application/JSON; Charset=UTF-8", "json"),
        ("application/problem+json", "json"),
        ("text/markdown", "text"),
        ("application/x-www-form-urlencoded", "text"),
        ('text/plain; charset="utf-8"', "text"),
        ("image/png", None),
        ("multipart/mixed", None),
        ("text/plain; charset=latin-1", None),
    ],
)
def test_a_body_is_json_or_text_or_cannot_be_a_message(content_type: str, form: str | None) -> None:
    request = RawRequest({"content-type": content_type}, {}, b"")
    if form is None:
        with pytest.raises(UnsupportedMediaTypeError):
            body_form(request, 1)
    else:
        assert body_form(request, 1) == form
