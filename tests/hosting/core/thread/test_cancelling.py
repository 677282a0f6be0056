"""A run that is to end: cancelled by somebody, by a signal that failed, or by its time in the queue."""

import pytest

from hosting.core.thread.commands import (
    AttachToRun,
    CancelRun,
    Change,
    ClaimRun,
    Command,
    ExpireRun,
    JoinRuns,
    PauseRun,
    RecordSteps,
    ReleaseRun,
    ResumeRun,
    RetryRun,
    SignalFailed,
    Unchanged,
)
from hosting.core.thread.draft import SIGNAL_SECONDS
from hosting.core.thread.head import decode, encode
from hosting.core.thread.rows import KeyRow, RowChange
from hosting.core.thread.run import end_by_joining
from hosting.core.thread.run_request import Decision
from tests.hosting.core.thread.played import after
from tests.support.threads import DEADLINE, NOW, Thread, accept, accepted, end, model_result, terms

HELD = accept("r1", claimed=True)
CANCEL = CancelRun(NOW, "r1")
STEP = RecordSteps("token-r1", (model_result(),))
RELEASE = ReleaseRun(NOW, "token-r1", signalled=True)
BY_ENTITY = ClaimRun(NOW, terms("e1", "entity"))


def taken_over(thread: Thread) -> Command:
    """Return the command by which the entity takes the run over from a holder that was silent."""
    return ClaimRun(NOW, terms("e1", "entity"), idle_append=thread.head.append_id)


@pytest.mark.behaviour("thread.cancel")
@pytest.mark.parametrize("claimed", [False, True])
def test_a_run_ends_at_once_where_nobody_holds_it_and_else_its_holder_is_told(claimed: bool) -> None:
    """Whoever asked has a signal taken: the end is to reach the document, and the holder may be gone."""
    thread = after(accept("r1", claimed=claimed))

    outcome = thread.do(CANCEL)

    told = [("cancel_requested", "r1")]
    assert thread.last(2) == ([("claimed", "r1"), *told] if claimed else [*told, ("cancelled", "r1")])
    assert isinstance(outcome, Change)
    assert outcome.signal


@pytest.mark.behaviour("thread.cancel")
def test_a_run_that_is_cancelled_ends_wherever_it_would_go_on() -> None:
    """Taken over, tried again, let go of, or past its deadline: whoever cancelled it was told so."""
    thread = after(HELD, CANCEL)
    retry = RetryRun(NOW, "token-r1", "t2", "run_failed", {"total_tokens": 40, "cost": 7})

    for command in (taken_over(thread), retry, RELEASE, ExpireRun(DEADLINE + 1, "r1", thread.head.append_id)):
        assert after(HELD, CANCEL, command).last(1) == [("cancelled", "r1")]
    assert after(HELD, CANCEL, retry).head.used == (40, 7)


@pytest.mark.behaviour("thread.cancel")
def test_cancelling_again_changes_nothing() -> None:
    """Nor does cancelling a run that has ended, or one for its time in the queue that somebody holds."""
    thread = after(HELD, CANCEL, accept("r2"))

    assert thread.do(CANCEL) == Unchanged("r1", signal=True)
    assert thread.do(CancelRun(NOW, "r0")) == Unchanged("r0")
    assert after(HELD).do(CancelRun(NOW, "r1", "queue_time")) == Unchanged("r1")


PROOFS: dict[str, tuple[tuple[Command, ...], bool]] = {
    "a step is out behind its signal": ((HELD, STEP), False),
    "a signal brought the entity": ((accept("r1"), BY_ENTITY), False),
    "a holder that let go knows that its signal was taken": ((HELD, RELEASE), False),
    "a holder that let go knows that it failed": ((HELD, ReleaseRun(NOW, "token-r1", signalled=False)), True),
    "a live lease: its process may die before its signal": ((HELD,), True),
    "a signal that failed": ((HELD, AttachToRun(NOW, "r1"), SignalFailed(NOW, "r1", "token-r1")), True),
}


@pytest.mark.behaviour("thread.promises")
@pytest.mark.behaviour("thread.failed-signals")
@pytest.mark.parametrize(("before", "signal"), PROOFS.values(), ids=list(PROOFS))
def test_whoever_attaches_signals_unless_it_is_proved_that_somebody_did(
    before: tuple[Command, ...], signal: bool
) -> None:
    thread = after(*before)

    assert thread.do(AttachToRun(NOW, "r1")).signal is signal  # type: ignore[union-attr]
    assert thread.do(AttachToRun(NOW, "r1")) == Unchanged("r1", signal=signal)


@pytest.mark.behaviour("thread.promises")
@pytest.mark.parametrize("is_held", [True, False])
def test_a_proof_that_nothing_came_of_is_none_and_once_a_minute_is_often_enough(is_held: bool) -> None:
    """The engine lost the signal: the run is past its deadline, or was let go of and nobody took it."""
    thread = after(HELD, STEP, RecordSteps("token-r1") if is_held else RELEASE)
    late = (DEADLINE if is_held else NOW) + SIGNAL_SECONDS

    outcomes = [thread.do(AttachToRun(at, "r1")) for at in (late, late + 1, late + 2, late + 2 + SIGNAL_SECONDS)]

    assert [outcome.signal for outcome in outcomes] == [False, True, False, True]  # type: ignore[union-attr]
    assert thread.last(2) == [("attached", "r1")] * 2


@pytest.mark.behaviour("thread.promises")
def test_a_cancel_has_a_signal_of_its_own_where_nothing_came_of_the_first() -> None:
    thread = after(HELD, STEP)

    outcomes = [thread.do(CancelRun(at, "r1")) for at in (NOW, DEADLINE + SIGNAL_SECONDS + 1)]

    assert [outcome.signal for outcome in outcomes] == [False, True]  # type: ignore[union-attr]


@pytest.mark.behaviour("thread.failed-signals")
def test_a_run_whose_signal_failed_is_cancelled_and_its_key_is_free() -> None:
    thread = after(accept("r1", claimed=True, key="k"))

    outcome = thread.do(SignalFailed(NOW, "r1", "token-r1", "k", "f"))

    assert thread.kinds()[2:] == ["cancel_requested", "released", "cancelled"]
    assert isinstance(outcome, Change)
    freed = KeyRow(epoch=0, run_id=None, fingerprint="f")
    assert outcome.rows[0] == RowChange(KeyRow.name_of("k"), 1, freed, is_new=False)
    assert thread.do(SignalFailed(NOW, "r1", "token-r1")) == Unchanged("r1")


@pytest.mark.behaviour("thread.failed-signals")
def test_a_queued_run_whose_signal_failed_gets_its_end_in_its_turn() -> None:
    thread = after(HELD, accept("r2"), SignalFailed(NOW, "r2"), end("r1"))

    assert thread.last(3) == [("cancel_requested", "r2"), ("completed", "r1"), ("cancelled", "r2")]


DECISIONS = (HELD, end("r1", "a1"), accept("r2", decisions=(Decision(id="a1", approved=True),)))
PROMISED: dict[str, tuple[tuple[Command, ...], SignalFailed]] = {
    "somebody else attached, who signals": ((HELD, AttachToRun(NOW, "r1")), SignalFailed(NOW, "r1", "token-r1")),
    "a step is recorded": ((HELD, STEP), SignalFailed(NOW, "r1", "token-r1")),
    "it is another attempt": ((HELD, RELEASE, ClaimRun(NOW, terms("t2"))), SignalFailed(NOW, "r1", "t2")),
    "it brings decisions, which are made": (
        (*DECISIONS, ClaimRun(NOW, terms("token-r2"))),
        SignalFailed(NOW, "r2", "token-r2"),
    ),
}


@pytest.mark.behaviour("thread.failed-signals")
@pytest.mark.parametrize(("before", "failed"), PROMISED.values(), ids=list(PROMISED))
def test_a_run_that_somebody_counts_on_is_only_let_go_of(before: tuple[Command, ...], failed: SignalFailed) -> None:
    thread = after(*before, failed)

    assert thread.last(1) == [("released", failed.run_id)]
    assert thread.head.runs[0].cancelled is None


@pytest.mark.behaviour("thread.failed-signals")
def test_a_cancelled_run_that_is_let_go_of_ends_there() -> None:
    """Once, and also where somebody else attached to it."""
    for before in ((), (AttachToRun(NOW, "r1"),)):
        thread = after(HELD, *before, CANCEL, SignalFailed(NOW, "r1", "token-r1"))

        assert thread.last(2) == [("released", "r1"), ("cancelled", "r1")]
        assert thread.kinds().count("cancel_requested") == 1


@pytest.mark.behaviour("thread.failed-signals")
def test_a_run_that_another_holds_is_left_to_it() -> None:
    """An entity holds it: a signal was taken after all."""
    thread = after(HELD)
    thread.do(taken_over(thread))

    assert thread.do(SignalFailed(NOW, "r1", "token-r1")) == Unchanged("r1")
    assert thread.head.is_held_by("e1")


def paused_thread() -> Thread:
    """Return a thread whose only run was at work, is paused, and has no holder any more."""
    return after(accept("r1", claimed=True), PauseRun(NOW, "r1"), ReleaseRun(NOW, "token-r1", signalled=True))


@pytest.mark.behaviour("runs.pause")
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


@pytest.mark.behaviour("runs.pause")
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


@pytest.mark.behaviour("runs.pause")
def test_a_run_that_ends_or_has_ended_is_not_paused() -> None:
    thread = after(accept("r1", claimed=True), CancelRun(NOW, "r1"))

    assert thread.do(PauseRun(NOW, "r1")) == Unchanged("r1")
    thread.do(end("r1"))
    assert thread.do(PauseRun(NOW, "r1")) == Unchanged("r1")
    assert thread.do(ResumeRun(NOW, "r1")) == Unchanged("r1")


@pytest.mark.behaviour("runs.pause")
def test_a_paused_run_is_cancelled_at_once_and_whoever_waits_behind_it_is_signalled_for() -> None:
    """Nobody has a signal left while the thread stands still."""
    thread = paused_thread()
    thread.do(accept("r2"))
    outcome = thread.do(CancelRun(NOW, "r1"))

    assert isinstance(outcome, Change)
    assert thread.last(2) == [("cancel_requested", "r1"), ("cancelled", "r1")]
    assert (outcome.signal, [run.id for run in thread.head.runs], thread.head.is_paused) == (True, ["r2"], False)


@pytest.mark.behaviour("runs.pause")
def test_an_interrupted_run_that_was_paused_is_claimed_once_more_to_end_with_its_text() -> None:
    thread = paused_thread()
    thread.do(accept("r2", at=NOW + 1))
    thread.do(CancelRun(NOW + 1, "r1", "interrupt"))
    thread.do(ClaimRun(NOW + 1, terms("e1", "entity")))

    assert thread.last(1) == [("claimed", "r1")]


@pytest.mark.behaviour("runs.pause")
def test_a_reader_of_a_paused_run_needs_no_signal() -> None:
    """However long it stands: else each reader would wake the thread's entity for nothing."""
    thread = paused_thread()

    assert thread.do(AttachToRun(NOW + 100 * SIGNAL_SECONDS, "r1")) == Unchanged("r1", signal=False)


@pytest.mark.behaviour("runs.pause")
def test_a_paused_message_joins_no_run() -> None:
    thread = after(accept("r1", claimed=True), accept("r2", steers=True), PauseRun(NOW, "r2"))

    assert thread.head.joining == ()
    joined = end_by_joining(accepted("r2"), "r1", 2, NOW)
    assert thread.do(JoinRuns("token-r1", (joined,))) == Unchanged("r1")


@pytest.mark.behaviour("runs.pause")
def test_a_head_has_nothing_of_a_pause_that_is_over() -> None:
    thread = paused_thread()
    assert decode(encode(thread.head)) == thread.head

    thread.do(ResumeRun(NOW, "r1"))

    assert b"paused" not in encode(thread.head)
