"""What a run did, step by step: a fold of its events."""

from __future__ import annotations

from typing import Any

import pytest

from hosting.core.thread.events import (
    Accepted,
    Claimed,
    Completed,
    Event,
    ModelResult,
    Released,
    ToolResult,
    ToolStarted,
)
from hosting.core.thread.run import fold_run
from hosting.core.thread.run_request import RunRequest
from hosting.http.timeline import timeline_fields
from hosting.names import Address
from hosting.ports import iso

ANSWER = {"usage": {"inputTokenCount": 30, "outputTokenCount": 7, "totalTokenCount": 37}}
CALL = {"type": "function_call", "call_id": "a", "name": "find", "arguments": '{"number": 1}'}


def accepted(at: float = 1.0) -> Accepted:
    return Accepted(
        at=at, run_id="r", agent="a", thread_id="t", request=RunRequest(message="hi"), fingerprint="f", streamed=True
    )


def claimed(at: float, attempt: int = 1, failed: str | None = None) -> Claimed:
    return Claimed(
        at=at, run_id="r", attempt=attempt, token=str(at), holder="entity", lease_seconds=20, deadline=99, failed=failed
    )


def model_result(at: float, number: int = 1, within: str = "") -> ModelResult:
    response = {"messages": [{"contents": [CALL]}], "usage_details": {"input_token_count": 10, "total_token_count": 12}}
    return ModelResult(at=at, run_id="r", number=number, within=within, digest="", response=response)


def completed(at: float) -> Completed:
    return Completed(at=at, run_id="r", entry=ANSWER, message_count=2)


def steps(*events: Event) -> list[dict[str, Any]]:
    """The timeline of these events, times in seconds."""
    listed = list(enumerate(events, start=1))
    run = fold_run(Address.of("Joker", "t"), "r", listed)
    assert run is not None
    seconds = {iso(event.at): event.at for event in events}
    shown = [dict(step) for step in timeline_fields(run, listed)["steps"]]
    return [{**step, "at": seconds[step["at"]], "ended_at": seconds.get(step["ended_at"])} for step in shown]


@pytest.mark.behaviour("http.timeline")
def test_model_calls_and_tools_have_their_times_and_tokens() -> None:
    """The last call, which has no event of its own, begins with the last result and has the tokens that are left."""
    told = steps(
        accepted(1.0),
        claimed(2.0),
        model_result(3.0),
        ToolStarted(at=3.5, run_id="r", key="1.a", name="find", digest=""),
        ToolResult(at=5.0, run_id="r", key="1.a", text="found"),
        completed(9.0),
    )

    assert told == [
        {"kind": "accepted", "at": 1.0, "ended_at": 1.0},
        {"kind": "attempt", "at": 2.0, "ended_at": 9.0, "attempt": 1, "holder": "entity"},
        {
            "kind": "model_call",
            "at": 2.0,
            "ended_at": 3.0,
            "id": "1",
            "tools": ["find"],
            "usage": {"input_token_count": 10, "total_token_count": 12},
        },
        {
            "kind": "tool_call",
            "at": 3.5,
            "ended_at": 5.0,
            "id": "1.a",
            "tool": "find",
            "arguments": {"number": 1},
            "result": "found",
        },
        {
            "kind": "model_call",
            "at": 5.0,
            "ended_at": 9.0,
            "id": "2",
            "tools": [],
            "usage": {"input_token_count": 20, "output_token_count": 7, "total_token_count": 25},
        },
        {"kind": "ended", "at": 9.0, "ended_at": 9.0, "status": "success"},
    ]


CUT_OFF = "cut_off: The attempt ended while the tool was running. It may have done its work."


def begins(at: float) -> ToolStarted:
    return ToolStarted(at=at, run_id="r", key="1.a", name="find", digest="")


def calls_of(*events: Event) -> list[tuple[float, float | None, str | None]]:
    """When each tool call began and ended, and what it came to."""
    return [
        (step["at"], step["ended_at"], step.get("result") or f"{step['code']}: {step['error']}")
        for step in steps(accepted(), claimed(2.0), model_result(3.0), *events)
        if step["kind"] == "tool_call"
    ]


@pytest.mark.behaviour("http.timeline")
def test_a_call_that_a_later_attempt_makes_again_is_a_step_of_each() -> None:
    """That of the attempt that died ends with it; one whose later begin was not recorded began with its attempt."""
    result = ToolResult(at=47.0, run_id="r", key="1.a", text="shipped")

    both = [(4.0, 44.0, CUT_OFF), (45.0, 47.0, "shipped")]
    assert calls_of(begins(4.0), claimed(44.0, 2), begins(45.0), result, completed(48.0)) == both
    assert calls_of(begins(4.0), claimed(44.0, 2), result, completed(48.0)) == [both[0], (44.0, 47.0, "shipped")]
    assert calls_of(
        begins(4.0), claimed(44.0, 2), begins(45.0), Released(at=45.5, run_id="r", signalled=True), claimed(46.0, 3)
    ) == [(4.0, 44.0, CUT_OFF), (45.0, 45.5, CUT_OFF)]
