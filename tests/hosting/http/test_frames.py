"""The frames of a run's stream: the name, the fields and the id of each event's frame."""

from __future__ import annotations

from typing import Any

import pytest

from hosting.core.broadcast import DeltaText, LoggedEvent, News, UnderWay
from hosting.core.thread.events import (
    Checkpointed,
    Claimed,
    Delta,
    Event,
    Released,
    ToolResult,
)
from hosting.core.thread.run import Run
from hosting.core.thread.run_request import ExecutorCall, Superstep
from hosting.errors import HostingError, InternalError, LogUnavailableError, ThreadDeletedError
from hosting.http.streams import Frame, Frames, broken
from hosting.names import Address
from hosting.ports import iso
from tests.support.threads import NOW, accepted, completed, tool_started

ADDRESS = Address.of("Helper", "t1")
AT = iso(NOW)
IDS = {"thread_id": "t1", "session_id": "t1", "run_id": "r1", "correlation_id": "r1"}
ACCEPTED = Frame("4", "accepted", {"status": "accepted", **IDS, "at": AT})


def claimed(attempt: int = 1) -> Claimed:
    return Claimed(
        at=NOW, run_id="r1", attempt=attempt, token="t", holder="caller", lease_seconds=20.0, deadline=NOW + 300
    )


def delta(offset: int, text: str) -> Delta:
    return Delta(at=NOW, run_id="r1", offset=offset, text=text)


def frames_of(*news: News, after: int = 0) -> list[Frame]:
    """Return the frames of a run that was accepted at position 4."""
    frames = Frames(Run(ADDRESS, accepted(), 4, 4), after, lambda: NOW)
    return [frame for one in (LoggedEvent(4, accepted()), *news) for frame in frames.next(one)]


def fields_of(*events: Event) -> list[Any]:
    """Return the fields of the frames of events that follow the run's first."""
    return [frame.fields for frame in frames_of(*(LoggedEvent(5 + at, event) for at, event in enumerate(events)))[1:]]


@pytest.mark.behaviour("streams.ids")
def test_an_event_s_id_is_its_position_and_deltas_are_numbered_behind_the_last_one() -> None:
    deltas = [DeltaText("r1", 0, "a", after=5), DeltaText("r1", 1, "b", after=5), DeltaText("r1", 2, "c", after=6)]

    frames = frames_of(LoggedEvent(5, claimed()), *deltas, LoggedEvent(8, completed()))

    assert [(frame.id, frame.event) for frame in frames] == [
        ("4", "accepted"),
        ("5", "started"),
        ("5.1", "delta"),
        ("5.2", "delta"),
        ("6.1", "delta"),
        ("8", "completed"),
    ]


@pytest.mark.behaviour("streams.offset")
def test_deltas_have_their_offset_and_their_time() -> None:
    """Whether they come from the log or from whoever says them."""
    frames = frames_of(LoggedEvent(5, delta(0, "Good ")), DeltaText("r1", 5, "day", after=5))

    assert frames == [
        ACCEPTED,
        Frame("5", "delta", {"text": "Good ", "offset": 0, "at": AT}),
        Frame("5.1", "delta", {"text": "day", "offset": 5, "at": AT}),
    ]


@pytest.mark.behaviour("streams.restart")
def test_every_claim_but_the_first_is_a_restart() -> None:
    """After a lost process, a failure that is tried again, or a holder that let go."""
    let_go = Released(at=NOW, run_id="r1", signalled=True)

    frames = frames_of(LoggedEvent(5, claimed()), LoggedEvent(6, let_go), LoggedEvent(7, claimed(2)))

    assert frames[1:] == [
        Frame("5", "started", {"attempt": 1, "at": AT}),
        Frame("7", "restarted", {"attempt": 2, "at": AT}),
    ]


@pytest.mark.parametrize(
    ("members", "says"),
    [
        ({"error": "secret"}, "The tool failed."),
        ({"interrupted": True}, "The process ended while the tool was running. It may have done its work."),
        (
            {"interrupted": True, "text": "unknown"},
            "The process ended while the tool was running. It may have done its work.",
        ),
    ],
)
def test_a_tool_that_failed_or_was_interrupted_has_an_error_for_a_result(members: dict[str, Any], says: str) -> None:
    """By a sentence of ours, and a code of its own where the process ended."""
    result = ToolResult(at=NOW, run_id="r1", key="1.call", **members)
    code = {"code": "cut_off"} if result.interrupted else {}

    assert fields_of(tool_started(), result)[1] == {"id": "1.call", "tool": "pay", "error": says, **code, "at": AT}


@pytest.mark.behaviour("streams.unavailable")
@pytest.mark.parametrize(
    ("error", "event"),
    [
        (ThreadDeletedError("It was deleted."), "cancelled"),
        (LogUnavailableError(), "unavailable"),
        (InternalError("It broke off."), "failed"),
    ],
)
def test_a_stream_that_cannot_go_on_says_why(error: HostingError, event: str) -> None:
    frame = broken(error, Run(ADDRESS, accepted(), 4, 4), NOW)

    assert (frame.id, frame.event) == (None, event)
    assert frame.fields.items() >= {"code": error.code, "detail": error.detail, **IDS, "at": AT}.items()


def at_work(number: int, *calls: tuple[str, str]) -> UnderWay:
    """Return what executors are at: `works`, `ended` or `failed`."""
    calls_now = [
        ExecutorCall(executor=name, began_at=NOW, ended_at=0.0 if how == "works" else NOW + 1, failed=how == "failed")
        for name, how in calls
    ]
    return UnderWay("r1", Superstep(number=number, calls=tuple(calls_now)))


def executors(*news: News) -> list[tuple[str, str]]:
    frames = frames_of(*news)
    return [(frame.event, frame.fields["executor"]) for frame in frames if frame.event.startswith("executor_")]


@pytest.mark.behaviour("workflows.at-work")
def test_each_step_of_an_executor_has_one_frame_however_often_it_is_heard_of() -> None:
    """While its superstep is under way, and with what is logged of it; a call more is a frame more."""
    works, ended = at_work(1, ("a", "works")), at_work(1, ("a", "ended"), ("a", "works"))
    calls = at_work(1, ("a", "ended"), ("a", "ended")).superstep.calls
    logged = Checkpointed(
        at=NOW, run_id="r1", superstep=1, framework="", graph="", checkpoint="", updates=[], values=[], calls=calls
    )

    heard = executors(LoggedEvent(5, claimed()), works, works, ended, LoggedEvent(6, logged))

    assert heard == executors(LoggedEvent(5, claimed()), LoggedEvent(6, logged))
    assert heard == [("executor_invoked", "a"), ("executor_completed", "a")] * 2


@pytest.mark.behaviour("workflows.at-work")
def test_the_executors_of_another_attempt_begin_again() -> None:
    """In the same superstep; the one that failed in the attempt before does so once."""
    again = [LoggedEvent(6, claimed(2)), at_work(3, ("a", "works"))]

    heard = executors(LoggedEvent(5, claimed()), at_work(3, ("a", "failed")), *again)

    assert heard == [("executor_invoked", "a"), ("executor_failed", "a"), ("executor_invoked", "a")]
