"""A run that a person has stand still: paused, resumed, and what becomes of those behind it."""

import pytest

from hosting.core.thread.commands import (
    AttachToRun,
    CancelRun,
    Change,
    ClaimRun,
    JoinRuns,
    PauseRun,
    ReleaseRun,
    ResumeRun,
    Unchanged,
)
from hosting.core.thread.draft import SIGNAL_SECONDS
from hosting.core.thread.head import decode, encode
from hosting.core.thread.run import end_by_joining
from tests.hosting.core.thread.played import after
from tests.support.threads import NOW, Thread, accept, accepted, end, terms

pytestmark = pytest.mark.behaviour("runs.pause")


def paused_thread() -> Thread:
    """Return a thread whose only run was at work, is paused, and has no holder any more."""
    return after(accept("r1", claimed=True), PauseRun(NOW, "r1"), ReleaseRun(NOW, "token-r1", signalled=True))


def test_a_paused_run_is_claimed_by_nobody_until_it_is_resumed() -> None:
    """Neither for its caller nor by the entity; once it is resumed, it is as before."""
    thread = paused_thread()
    claims = [ClaimRun(NOW, terms("c1"), run_id="r1"), ClaimRun(NOW, terms("e1", "entity"))]
    refused = [thread.do(claim) for claim in claims]
    resumed = thread.do(ResumeRun(NOW, "r1"))
    thread.do(claims[1])

    assert refused == [Unchanged("r1"), Unchanged("r1")]
    assert isinstance(resumed, Change)
    assert resumed.signal
    assert thread.kinds() == ["accepted", "claimed", "paused", "released", "resumed", "claimed"]


def test_pausing_and_resuming_again_changes_nothing() -> None:
    """A repeated resume has the signal sent before which the first one may have died."""
    thread = paused_thread()
    again = thread.do(PauseRun(NOW, "r1"))
    thread.do(ResumeRun(NOW, "r1"))
    attached = thread.do(ResumeRun(NOW, "r1"))

    assert again == Unchanged("r1")
    assert isinstance(attached, Change)
    assert attached.signal
    assert thread.last(1) == [("attached", "r1")]
    assert thread.do(ResumeRun(NOW, "r1")) == Unchanged("r1", signal=True)


def test_a_run_that_ends_or_has_ended_is_not_paused() -> None:
    thread = after(accept("r1", claimed=True), CancelRun(NOW, "r1"))

    assert thread.do(PauseRun(NOW, "r1")) == Unchanged("r1")
    thread.do(end("r1"))
    assert thread.do(PauseRun(NOW, "r1")) == Unchanged("r1")
    assert thread.do(ResumeRun(NOW, "r1")) == Unchanged("r1")


def test_a_paused_run_is_cancelled_at_once_and_whoever_waits_behind_it_is_signalled_for() -> None:
    """Nobody has a signal left while the thread stands still."""
    thread = paused_thread()
    thread.do(accept("r2"))
    outcome = thread.do(CancelRun(NOW, "r1"))

    assert isinstance(outcome, Change)
    assert thread.last(2) == [("cancel_requested", "r1"), ("cancelled", "r1")]
    assert (outcome.signal, [run.id for run in thread.head.runs], thread.head.is_paused) == (True, ["r2"], False)


def test_an_interrupted_run_that_was_paused_is_claimed_once_more_to_end_with_its_text() -> None:
    thread = paused_thread()
    thread.do(accept("r2", at=NOW + 1))
    thread.do(CancelRun(NOW + 1, "r1", "interrupt"))
    thread.do(ClaimRun(NOW + 1, terms("e1", "entity")))

    assert thread.last(1) == [("claimed", "r1")]


def test_a_reader_of_a_paused_run_needs_no_signal() -> None:
    """However long it stands: else each reader would wake the thread's entity for nothing."""
    thread = paused_thread()

    assert thread.do(AttachToRun(NOW + 100 * SIGNAL_SECONDS, "r1")) == Unchanged("r1", signal=False)


def test_a_paused_message_joins_no_run() -> None:
    thread = after(accept("r1", claimed=True), accept("r2", steers=True), PauseRun(NOW, "r2"))

    assert thread.head.joining == ()
    joined = end_by_joining(accepted("r2"), "r1", 2, NOW)
    assert thread.do(JoinRuns("token-r1", (joined,))) == Unchanged("r1")


def test_a_head_has_nothing_of_a_pause_that_is_over() -> None:
    thread = paused_thread()
    assert decode(encode(thread.head)) == thread.head

    thread.do(ResumeRun(NOW, "r1"))

    assert b"paused" not in encode(thread.head)
