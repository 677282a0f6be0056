"""How long a caller waits, and what makes two requests the same."""

import json
from typing import Any

import pytest

from hosting.requests import Call, RunCall, parse_run


def call(headers: dict[str, str] | None = None, query: dict[str, str] | None = None, **fields: Any) -> RunCall:
    """Parse a JSON request of these fields."""
    body = json.dumps({"message": "hi", **fields}).encode()
    request = Call({"content-type": "application/json", **(headers or {})}, query or {}, body, "http://h/api")
    return parse_run(request, "Joker", max_body_bytes=10_000)


@pytest.mark.parametrize(
    ("value", "waits"),
    [(True, True), (False, False), (1, True), (0, False), ("yes", True), ("NO", False), (" True ", True), ("0", False)],
)
@pytest.mark.parametrize("name", ["wait_for_response", "waitForResponse"])
def test_a_wait_is_said_in_many_ways(name: str, value: Any, waits: bool) -> None:
    """Truths as JSON, as numbers and as words."""
    assert call(**{name: value}).wait.answer is waits


def test_the_header_wins_over_the_query_over_the_body_over_prefer() -> None:
    """The order of http-api.md section 1."""
    prefer, query = {"prefer": "respond-async"}, {"waitForResponse": "no"}
    header = {**prefer, "x-ms-wait-for-response": "yes"}

    assert call(prefer).wait.answer is False
    assert call(prefer, wait_for_response=True).wait.answer is True
    assert call(prefer, wait_for_response=None).wait.answer is False
    assert call(prefer, query, wait_for_response=True).wait.answer is False
    assert call(header, query, wait_for_response=False).wait.answer is True


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
    wait = call({"prefer": prefer}).wait

    assert (wait.seconds, wait.answer, wait.applied) == (seconds, answer, applied)


def test_a_fingerprint_is_of_the_request_and_its_thread() -> None:
    """Not of how the answer is wanted; another agent, thread, message or switch is another request."""
    plain = call().fingerprint("Joker")

    assert call({"accept": "text/plain", "prefer": "wait=1"}, wait_for_response=False).fingerprint("Joker") == plain
    others = [call(thread_id="t"), call(message="ho"), call(enable_tool_calls=False)]
    assert len({plain, call().fingerprint("other"), *(other.fingerprint("Joker") for other in others)}) == 5
