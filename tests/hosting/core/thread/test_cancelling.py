"""A run that is to end: cancelled by somebody, by a signal that failed, or by its time in the queue."""

import pytest

from hosting.core.thread.commands import (
    AttachToRun,
    CancelRun,
    Change,
    ClaimRun,
    RecordSteps,
    ReleaseRun,
    RetryRun,
    SignalFailed,
    Unchanged,
)
from hosting.core.thread.draft import SIGNAL_SECONDS
from hosting.core.thread.rows import KeyRow, RowChange
from hosting.core.thread.run_request import Decision
from tests.support.threads import DEADLINE, NOW, Thread, accept, end, model_result, terms


@pytest.mark.behaviour("thread.cancel")
def test_a_run_that_nobody_holds_ends_at_once_when_it_is_its_turn() -> None:
    """It never starts; its end is to reach the document, so whoever asked has a signal taken for it."""
    thread = Thread()
    thread.do(accept("r1"))

    outcome = thread.do(CancelRun(NOW, "r1"))

    assert thread.kinds() == ["accepted", "cancel_requested", "cancelled"]
    assert isinstance(outcome, Change)
    assert outcome.signal


@pytest.mark.behaviour("thread.cancel")
def test_a_run_that_is_held_is_told() -> None:
    """Its holder ends it; whoever asked has a signal taken, for the holder may be gone."""
    thread = Thread()
    thread.do(accept("r1", claimed=True))

    outcome = thread.do(CancelRun(NOW, "r1"))

    assert thread.last(1) == [("cancel_requested", "r1")]
    assert isinstance(outcome, Change)
    assert outcome.signal


@pytest.mark.behaviour("thread.cancel")
def test_a_run_that_is_cancelled_is_claimed_no_more() -> None:
    """Whoever would take it over ends it."""
    thread = Thread()
    thread.do(accept("r1", claimed=True))
    thread.do(CancelRun(NOW, "r1"))

    thread.do(ClaimRun(NOW, terms("e1", "entity"), idle_append=thread.head.append_id))

    assert thread.last(1) == [("cancelled", "r1")]


@pytest.mark.behaviour("thread.cancel")
def test_a_run_that_is_cancelled_is_not_tried_again() -> None:
    """An attempt that failed is its last one."""
    thread = Thread()
    thread.do(accept("r1", claimed=True))
    thread.do(CancelRun(NOW, "r1"))

    thread.do(RetryRun(NOW, "token-r1", "t2", "run_failed", {"total_tokens": 40, "cost": 7}))

    assert thread.last(1) == [("cancelled", "r1")]
    assert thread.head.used == (40, 7)


@pytest.mark.behaviour("thread.cancel")
def test_a_cancelled_run_that_its_holder_lets_go_of_ends_there() -> None:
    """The release makes it one that nobody holds."""
    thread = Thread()
    thread.do(accept("r1", claimed=True))
    thread.do(CancelRun(NOW, "r1"))

    thread.do(ReleaseRun(NOW, "token-r1", signalled=True))

    assert thread.last(2) == [("released", "r1"), ("cancelled", "r1")]


@pytest.mark.behaviour("thread.cancel")
def test_cancelling_again_changes_nothing() -> None:
    """Nor does cancelling a run that has ended."""
    thread = Thread()
    thread.do(accept("r1", claimed=True))
    thread.do(CancelRun(NOW, "r1"))
    thread.do(accept("r2"))

    assert thread.do(CancelRun(NOW, "r1")) == Unchanged("r1", signal=True)
    assert thread.do(CancelRun(NOW, "r0")) == Unchanged("r0")


@pytest.mark.behaviour("thread.cancel")
def test_a_run_that_somebody_holds_has_not_waited_for_too_long() -> None:
    """Its time in the queue was over when it was claimed."""
    thread = Thread()
    thread.do(accept("r1", claimed=True))

    assert thread.do(CancelRun(NOW, "r1", "queue_time")) == Unchanged("r1")


@pytest.mark.behaviour("thread.promises")
def test_a_step_of_its_holder_proves_that_a_signal_was_taken() -> None:
    """It is out before the first step that costs, so whoever attaches then need not signal."""
    thread = Thread()
    thread.do(accept("r1", claimed=True))
    thread.do(RecordSteps("token-r1", (model_result(),)))

    assert thread.do(AttachToRun(NOW, "r1")) == Unchanged("r1", signal=False)


@pytest.mark.behaviour("thread.promises")
def test_a_live_lease_proves_nothing() -> None:
    """Its process may die before its signal."""
    thread = Thread()
    thread.do(accept("r1", claimed=True))

    outcome = thread.do(AttachToRun(NOW, "r1"))

    assert (thread.last(1), outcome.signal) == ([("attached", "r1")], True)  # type: ignore[union-attr]
    assert thread.do(AttachToRun(NOW, "r1")) == Unchanged("r1", signal=True)


@pytest.mark.behaviour("thread.promises")
def test_an_entitys_claim_proves_that_a_signal_was_taken() -> None:
    """That is what brought it."""
    thread = Thread()
    thread.do(accept("r1"))
    thread.do(ClaimRun(NOW, terms("e1", "entity")))

    assert thread.do(AttachToRun(NOW, "r1")) == Unchanged("r1")


@pytest.mark.behaviour("thread.promises")
@pytest.mark.parametrize(("signalled", "needs_signal"), [(True, False), (False, True)])
def test_a_release_proves_what_its_holder_knows(signalled: bool, needs_signal: bool) -> None:
    """One whose signal failed lets go, too."""
    thread = Thread()
    thread.do(accept("r1", claimed=True))
    thread.do(ReleaseRun(NOW, "token-r1", signalled=signalled))

    outcome = thread.do(AttachToRun(NOW, "r1"))

    assert outcome.signal is needs_signal  # type: ignore[union-attr]


@pytest.mark.behaviour("thread.promises")
@pytest.mark.parametrize("is_held", [True, False])
def test_a_proof_that_nothing_came_of_is_none_and_once_a_minute_is_often_enough(is_held: bool) -> None:
    """The engine lost the signal: the run is past its deadline, or was let go of and nobody took it."""
    thread = Thread()
    thread.do(accept("r1", claimed=True))
    thread.do(RecordSteps("token-r1", (model_result(),)))
    thread.do(RecordSteps("token-r1") if is_held else ReleaseRun(NOW, "token-r1", signalled=True))
    late = (DEADLINE if is_held else NOW) + SIGNAL_SECONDS

    outcomes = [thread.do(AttachToRun(at, "r1")) for at in (late, late + 1, late + 2, late + 2 + SIGNAL_SECONDS)]

    assert [outcome.signal for outcome in outcomes] == [False, True, False, True]  # type: ignore[union-attr]
    assert thread.last(2) == [("attached", "r1")] * 2


@pytest.mark.behaviour("thread.promises")
def test_a_cancel_has_a_signal_of_its_own_where_nothing_came_of_the_first() -> None:
    """Nobody else would end the run."""
    thread = Thread()
    thread.do(accept("r1", claimed=True))
    thread.do(RecordSteps("token-r1", (model_result(),)))

    outcomes = [thread.do(CancelRun(at, "r1")) for at in (NOW, DEADLINE + SIGNAL_SECONDS + 1)]

    assert [outcome.signal for outcome in outcomes] == [False, True]  # type: ignore[union-attr]


@pytest.mark.behaviour("thread.failed-signals")
def test_a_run_whose_signal_failed_is_cancelled_and_its_key_is_free() -> None:
    """Nobody else was promised anything of it."""
    thread = Thread()
    thread.do(accept("r1", claimed=True, key="k"))

    outcome = thread.do(SignalFailed(NOW, "r1", "token-r1", "k", "f"))

    assert thread.kinds()[2:] == ["cancel_requested", "released", "cancelled"]
    assert isinstance(outcome, Change)
    assert outcome.rows[0] == RowChange(
        KeyRow.name_of("k"), 1, KeyRow(epoch=0, run_id=None, fingerprint="f"), is_new=False
    )


@pytest.mark.behaviour("thread.failed-signals")
def test_a_queued_run_whose_signal_failed_gets_its_end_in_its_turn() -> None:
    """And is claimed by nobody before."""
    thread = Thread()
    thread.do(accept("r1", claimed=True))
    thread.do(accept("r2"))

    thread.do(SignalFailed(NOW, "r2"))
    thread.do(end("r1"))

    assert thread.last(3) == [("cancel_requested", "r2"), ("completed", "r1"), ("cancelled", "r2")]


@pytest.mark.behaviour("thread.failed-signals")
def test_a_run_that_somebody_else_attached_to_is_only_let_go_of() -> None:
    """The other one signals for it."""
    thread = Thread()
    thread.do(accept("r1", claimed=True))
    thread.do(AttachToRun(NOW, "r1"))

    thread.do(SignalFailed(NOW, "r1", "token-r1"))

    assert thread.last(1) == [("released", "r1")]
    assert thread.head.runs[0].cancelled is None


@pytest.mark.behaviour("thread.failed-signals")
@pytest.mark.parametrize("proof", ["a step", "a second attempt"])
def test_a_run_of_which_the_log_shows_more_is_only_let_go_of(proof: str) -> None:
    """Whoever says late that a signal failed cancels nothing that is at work."""
    thread = Thread()
    thread.do(accept("r1", claimed=True))
    token = "token-r1"
    if proof == "a step":
        thread.do(RecordSteps(token, (model_result(),)))
    else:
        thread.do(ReleaseRun(NOW, token, signalled=False))
        thread.do(ClaimRun(NOW, terms(token := "t2")))

    thread.do(SignalFailed(NOW, "r1", token))

    assert thread.last(1) == [("released", "r1")]


@pytest.mark.behaviour("thread.failed-signals")
def test_a_signal_that_failed_proves_nothing() -> None:
    """Whoever attaches then signals."""
    thread = Thread()
    thread.do(accept("r1", claimed=True))
    thread.do(AttachToRun(NOW, "r1"))
    thread.do(SignalFailed(NOW, "r1", "token-r1"))

    assert thread.do(AttachToRun(NOW, "r1")) == Unchanged("r1", signal=True)


@pytest.mark.behaviour("thread.failed-signals")
def test_a_cancelled_run_that_is_let_go_of_ends_there() -> None:
    """Also where somebody else attached to it."""
    thread = Thread()
    thread.do(accept("r1", claimed=True))
    thread.do(AttachToRun(NOW, "r1"))
    thread.do(CancelRun(NOW, "r1"))

    thread.do(SignalFailed(NOW, "r1", "token-r1"))

    assert thread.last(2) == [("released", "r1"), ("cancelled", "r1")]


@pytest.mark.behaviour("thread.failed-signals")
def test_a_run_that_is_cancelled_or_over_is_not_cancelled_again() -> None:
    """When its signal turns out to have failed."""
    thread = Thread()
    thread.do(accept("r1", claimed=True))
    thread.do(CancelRun(NOW, "r1"))

    thread.do(SignalFailed(NOW, "r1", "token-r1"))

    assert thread.kinds()[2:] == ["cancel_requested", "released", "cancelled"]
    assert thread.do(SignalFailed(NOW, "r1", "token-r1")) == Unchanged("r1")


@pytest.mark.behaviour("thread.failed-signals")
def test_a_run_that_another_holds_is_left_to_it() -> None:
    """An entity holds it: a signal was taken after all."""
    thread = Thread()
    thread.do(accept("r1", claimed=True))
    thread.do(ClaimRun(NOW, terms("e1", "entity"), idle_append=thread.head.append_id))

    assert thread.do(SignalFailed(NOW, "r1", "token-r1")) == Unchanged("r1")
    assert thread.head.is_held_by("e1")


@pytest.mark.behaviour("thread.failed-signals")
def test_a_run_that_brings_decisions_is_never_cancelled_by_a_failed_signal() -> None:
    """They are made: whoever repeats the last one finds the run and signals for it."""
    thread = Thread()
    thread.do(accept("r1", claimed=True))
    thread.do(end("r1", "a1"))
    thread.do(accept("r2", decisions=(Decision(id="a1", approved=True),)))
    thread.do(ClaimRun(NOW, terms("token-r2")))

    thread.do(SignalFailed(NOW, "r2", "token-r2"))

    assert thread.last(1) == [("released", "r2")]
    assert thread.head.runs[0].cancelled is None
