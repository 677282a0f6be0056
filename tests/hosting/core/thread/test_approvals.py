"""Tool calls that wait for a person: asked for, decided once, gone on from."""

import pytest

from hosting.core.thread.commands import (
    AnswerApproval,
    Change,
    ClaimRun,
    DeleteThread,
    EndRun,
    Outcome,
    ResetThread,
    Stale,
    TrimThread,
    Unchanged,
)
from hosting.core.thread.decide import MOST_APPROVALS
from hosting.core.thread.rows import ApprovalRow, DeletedRow, RowChange, RunRow
from hosting.core.thread.run_request import Decision, PendingApproval
from hosting.errors import (
    ApprovalAnsweredError,
    ApprovalExpiredError,
    ApprovalsVoidError,
    ThreadDeletedError,
    UnknownApprovalError,
    UnstorableAnswerError,
)
from hosting.ports import MOST_ROWS
from tests.support.threads import NOW, Thread, accept, accepted, completed, end, refusal, terms

ASKED = ApprovalRow(epoch=0, asked_by="r1")
YES_1, YES_2, NO_1 = (
    Decision(id="a1", approved=True),
    Decision(id="a2", approved=True),
    Decision(id="a1", approved=False),
)


def decided_by(resumed: str, decision: Decision) -> ApprovalRow:
    """Return the row of an approval of `r1` that was decided, and from where a run goes on."""
    return ApprovalRow(epoch=0, asked_by="r1", decision=decision, resumed_by=resumed)


def waiting(*approvals: str) -> Thread:
    """Return a thread whose run `r1` asked for these approvals."""
    thread = Thread()
    thread.do(accept("r1", claimed=True))
    thread.do(end("r1", *approvals, expires_at=NOW + 60))
    return thread


def answer(
    thread: Thread,
    *decisions: Decision,
    row: ApprovalRow | DeletedRow | None = ASKED,
    at: float = NOW,
    claimed: bool = False,
) -> Outcome:
    """Decide as the last of these decisions, where those before it were made already."""
    resumed = accepted("r2", decisions=decisions)
    return thread.do(AnswerApproval(at, decisions[-1], row, resumed, terms("token-r2") if claimed else None))


@pytest.mark.behaviour("thread.approvals")
def test_an_end_that_asks_leaves_a_row_for_each_approval() -> None:
    """By which an answer finds its run in one call, however old it is."""
    thread = Thread()
    thread.do(accept("r1", claimed=True))

    outcome = thread.do(end("r1", "a1", "a2"))

    assert isinstance(outcome, Change)
    assert outcome.rows == (
        RowChange(RunRow.name_of("r1"), 1, RunRow(epoch=0, first=1, last=3), is_new=False),
        RowChange(ApprovalRow.name_of("a1"), 1, ASKED),
        RowChange(ApprovalRow.name_of("a2"), 1, ASKED),
    )


@pytest.mark.behaviour("thread.approvals")
def test_an_answer_that_is_not_the_last_is_recorded_and_starts_nothing() -> None:
    """The thread waits on."""
    thread = waiting("a1", "a2")

    outcome = answer(thread, YES_1)

    assert isinstance(outcome, Change)
    assert (thread.last(1), outcome.signal) == ([("approval_answered", "r1")], False)
    assert outcome.rows[0].row == ApprovalRow(epoch=0, asked_by="r1", decision=YES_1)
    assert thread.head.waiting is not None
    assert thread.head.waiting.undecided == ("a2",)


@pytest.mark.behaviour("thread.approvals")
def test_the_last_answer_and_the_run_that_goes_on_are_one_append() -> None:
    """A process that dies behind it leaves a run that is there."""
    thread = waiting("a1", "a2")
    answer(thread, YES_1)

    outcome = answer(thread, YES_1, YES_2, claimed=True)

    assert isinstance(outcome, Change)
    assert thread.last(3) == [("approval_answered", "r1"), ("accepted", "r2"), ("claimed", "r2")]
    assert outcome.rows[0] == RowChange(ApprovalRow.name_of("a2"), 1, decided_by("r2", YES_2), is_new=False)
    assert (outcome.run_id, outcome.signal, thread.head.waiting) == ("r2", True, None)


@pytest.mark.behaviour("thread.approvals")
def test_the_last_answer_repeated_attaches_to_the_run_that_goes_on() -> None:
    """Its first answer may have been lost on the way."""
    thread = waiting("a1")
    answer(thread, YES_1)

    outcome = answer(thread, YES_1, row=ApprovalRow(epoch=0, asked_by="r1", decision=YES_1, resumed_by="r2"))

    assert isinstance(outcome, Change)
    assert (thread.last(1), outcome.run_id) == ([("attached", "r2")], "r2")


@pytest.mark.behaviour("thread.approvals")
def test_another_answer_to_a_decided_approval_is_refused() -> None:
    """The first one stands, and its refusal names the run that goes on."""
    thread = waiting("a1")
    answer(thread, YES_1)

    outcome = answer(thread, NO_1, row=ApprovalRow(epoch=0, asked_by="r1", decision=YES_1, resumed_by="r2"))

    assert refusal(outcome) is ApprovalAnsweredError
    assert "Run r2 continues" in outcome.error.detail  # type: ignore[union-attr]


@pytest.mark.behaviour("thread.approvals")
def test_an_approval_that_nobody_asked_for_is_unknown() -> None:
    """There is no row of it."""
    assert refusal(answer(waiting("a1"), Decision(id="a9", approved=True), row=None)) is UnknownApprovalError


@pytest.mark.behaviour("thread.approvals")
def test_an_answer_to_one_of_several_is_the_same_again_when_it_is_repeated() -> None:
    """The process may have died between two of them, and the caller sends all again."""
    thread = waiting("a1", "a2")
    answer(thread, YES_1)

    outcome = answer(thread, YES_1, row=ApprovalRow(epoch=0, asked_by="r1", decision=YES_1))

    assert outcome == Unchanged("")


@pytest.mark.behaviour("thread.approvals")
def test_another_answer_to_one_of_several_that_is_decided_says_that_it_is() -> None:
    """Nobody goes on from there yet, so nobody is named."""
    thread = waiting("a1", "a2")
    answer(thread, YES_1)

    outcome = answer(thread, NO_1, row=ApprovalRow(epoch=0, asked_by="r1", decision=YES_1))

    assert refusal(outcome) is ApprovalAnsweredError
    assert outcome.error.detail == "Approval 'a1' is answered already; the first answer stands."  # type: ignore[union-attr]


@pytest.mark.behaviour("thread.approvals")
def test_an_answer_to_what_waits_no_more_is_refused() -> None:
    """The thread went on, and waits for another approval now."""
    thread = waiting("a1")
    thread.do(accept("r2", at=NOW + 60, claimed=True))
    thread.do(end("r2", "a2", at=NOW + 60))

    assert refusal(answer(thread, YES_1, at=NOW + 60)) is ApprovalExpiredError


@pytest.mark.behaviour("thread.approvals")
def test_decisions_that_come_when_nothing_waits_are_refused() -> None:
    """Nor those that come too late."""
    assert refusal(Thread().do(accept("r2", decisions=(YES_1,)))) is ApprovalsVoidError
    assert refusal(waiting("a1").do(accept("r2", at=NOW + 60, decisions=(YES_1,)))) is ApprovalsVoidError


@pytest.mark.behaviour("thread.approvals")
def test_an_approval_of_a_deleted_thread_is_gone() -> None:
    """Its row is of another epoch."""
    assert refusal(answer(Thread(), YES_1, row=DeletedRow(epoch=0))) is ThreadDeletedError


@pytest.mark.behaviour("thread.approvals")
def test_an_answer_that_comes_too_late_is_refused() -> None:
    """Its time has passed."""
    assert refusal(answer(waiting("a1"), YES_1, at=NOW + 60)) is ApprovalExpiredError


@pytest.mark.behaviour("thread.approvals")
def test_waiting_approvals_end_with_a_reset() -> None:
    """The conversation that they belong to is gone."""
    thread = waiting("a1")
    thread.do(ResetThread(NOW))

    assert refusal(answer(thread, YES_1)) is ApprovalExpiredError


@pytest.mark.behaviour("thread.approvals")
def test_approvals_that_a_run_asks_for_after_a_reset_wait_for_nobody() -> None:
    """The run was accepted before it."""
    thread = Thread()
    thread.do(accept("r1", claimed=True))
    thread.do(ResetThread(NOW))

    thread.do(end("r1", "a1"))

    assert thread.head.waiting is None


@pytest.mark.behaviour("thread.approvals")
def test_an_answer_decided_beside_another_is_decided_again() -> None:
    """The run that goes on must bring both decisions."""
    thread = waiting("a1", "a2")
    answer(thread, YES_1)

    assert answer(thread, YES_2) == Stale()


@pytest.mark.behaviour("thread.approvals")
def test_decisions_that_a_run_brings_are_recorded_with_it() -> None:
    """An orchestration answers all at once; nobody else can any more."""
    thread = waiting("a1", "a2")

    outcome = thread.do(accept("r2", decisions=(YES_2, YES_1)))

    assert isinstance(outcome, Change)
    assert thread.last(3) == [("approval_answered", "r1"), ("approval_answered", "r1"), ("accepted", "r2")]
    assert outcome.rows[:2] == tuple(
        RowChange(ApprovalRow.name_of(decision.id), 1, decided_by("r2", decision), is_new=False)
        for decision in (YES_2, YES_1)
    )
    assert thread.head.waiting is None


@pytest.mark.behaviour("thread.approvals")
@pytest.mark.parametrize("decisions", [(YES_1,), (YES_1, YES_2, Decision(id="a3", approved=True))])
def test_decisions_on_other_calls_than_those_that_wait_are_refused(decisions: tuple[Decision, ...]) -> None:
    """All of them, and no others."""
    assert refusal(waiting("a1", "a2").do(accept("r2", decisions=decisions))) is ApprovalsVoidError


@pytest.mark.behaviour("thread.approvals")
def test_decisions_that_come_behind_an_answer_are_refused() -> None:
    """Somebody has decided on one of them."""
    thread = waiting("a1", "a2")
    answer(thread, YES_1)

    assert refusal(thread.do(accept("r2", decisions=(YES_1, YES_2)))) is ApprovalsVoidError


@pytest.mark.behaviour("thread.approvals")
def test_a_run_that_waited_behind_one_that_asks_ends_in_its_turn() -> None:
    """No model takes its message now, and it could wait for days."""
    thread = Thread()
    thread.do(accept("r1", claimed=True))
    thread.do(accept("r2"))

    thread.do(end("r1", "a1"))

    assert thread.last(2) == [("completed", "r1"), ("failed", "r2")]
    assert thread.events[-1].code == "approvals_pending"  # type: ignore[union-attr]


@pytest.mark.behaviour("thread.approvals")
def test_runs_that_waited_behind_one_that_asks_end_before_the_run_that_goes_on() -> None:
    """Also those for which its append had no room; the answer is taken meanwhile."""
    thread = Thread()
    thread.do(accept("r1", claimed=True))
    for number in range(MOST_ROWS):
        thread.do(accept(f"w{number}", queue_limit=200))
    thread.do(end("r1", "a1"))
    left = [run.id for run in thread.head.runs]

    answer(thread, YES_1, claimed=True)
    assert thread.last(1) == [("accepted", "r2")]
    thread.do(ClaimRun(NOW, terms("e1", "entity")))
    thread.do(ClaimRun(NOW, terms("e1", "entity")))

    assert left == ["w48", "w49"]
    assert thread.last(3) == [("failed", "w48"), ("failed", "w49"), ("claimed", "r2")]


@pytest.mark.behaviour("thread.approvals")
def test_more_approvals_than_one_append_holds_are_refused() -> None:
    """The run fails by a sentence instead of an append that no store takes."""
    thread = Thread()
    thread.do(accept("r1", claimed=True))

    outcome = thread.do(end("r1", *(f"a{number}" for number in range(MOST_APPROVALS + 1))))

    assert refusal(outcome) is UnstorableAnswerError
    assert thread.head.is_held_by("token-r1")
    assert isinstance(thread.do(end("r1", *(f"a{number}" for number in range(MOST_APPROVALS)))), Change)


@pytest.mark.behaviour("thread.approvals")
def test_an_answer_to_a_thread_that_is_being_deleted_signals_for_it() -> None:
    """As whoever meets that does."""
    thread = waiting("a1")
    thread.do(DeleteThread(NOW))
    assert thread.head.waiting is None

    outcome = answer(thread, YES_1)

    assert outcome.signal  # type: ignore[union-attr]


@pytest.mark.behaviour("workflows.asks")
def test_only_what_asks_for_a_value_and_its_answer_are_of_the_version_that_knows_them() -> None:
    """An older code would take them for approvals; threads without any are read by it."""
    question = PendingApproval(id="a1", tool="reviewer", arguments={}, kind="ask", answer_schema={"type": "string"})
    value = Decision.of_value("a1", "well")
    plain, asking, answering = waiting("a1"), Thread(), waiting("a1")
    asking.do(accept("r1", claimed=True))
    asked = completed("r1").model_copy(update={"approvals": (question,)})
    asking.do(EndRun("token-r1", asked))
    answer(answering, value)

    assert [event.v for event in plain.events] == [1, 1, 1]
    assert [event.v for event in asking.events] == [1, 1, 10]
    assert [event.v for event in answering.events[3:]] == [10, 10]
    assert (plain.head.v, asking.head.v, answering.head.v) == (1, 10, 10)


@pytest.mark.behaviour("workflows.asks")
def test_the_same_value_again_is_known_by_its_digest() -> None:
    """The row is small, however large the value is; another value is refused."""
    value = Decision.of_value("a1", {"b": "x" * 10_000, "a": 1})
    thread = waiting("a1")
    outcome = answer(thread, value)
    assert isinstance(outcome, Change)
    row = next(change.row for change in outcome.rows if isinstance(change.row, ApprovalRow))

    again = answer(thread, Decision.of_value("a1", {"a": 1, "b": "x" * 10_000}), row=row)

    assert len(row.model_dump_json()) < 1_000
    assert (again.run_id, isinstance(again, Change)) == ("r2", True)
    assert refusal(answer(thread, Decision.of_value("a1", {}), row=row)) is ApprovalAnsweredError


@pytest.mark.behaviour("workflows.asks")
def test_the_run_that_asked_is_kept_while_the_one_that_goes_on_is_open() -> None:
    """A workflow continues from its state."""
    thread = waiting("a1")
    answer(thread, Decision.of_value("a1", "well"), claimed=True)

    kept = thread.do(TrimThread(NOW, thread.head.position))
    thread.do(end("r2"))
    thread.do(TrimThread(NOW, thread.head.position - 1))

    assert (kept, thread.head.trimmed > 3) == (Unchanged(), True)
