"""Tool calls that wait for a person: asked for, decided once, gone on from."""

import pytest

from hosting.core.thread.commands import (
    AnswerApproval,
    Change,
    ClaimRun,
    DeleteThread,
    Outcome,
    ResetThread,
    Stale,
    TrimThread,
    Unchanged,
)
from hosting.core.thread.decide import MOST_APPROVALS
from hosting.core.thread.rows import ApprovalRow, DeletedRow, RowChange, RunRow
from hosting.core.thread.run_request import Decision
from hosting.errors import (
    ApprovalAnsweredError,
    ApprovalExpiredError,
    ApprovalsVoidError,
    ThreadDeletedError,
    UnknownApprovalError,
    UnstorableAnswerError,
)
from hosting.ports import MOST_ROWS
from tests.hosting.core.thread.played import after
from tests.support.threads import NOW, Thread, accept, accepted, end, refusal, terms

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
    return after(accept("r1", claimed=True), end("r1", *approvals, expires_at=NOW + 60))


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
    outcome = after(accept("r1", claimed=True)).do(end("r1", "a1", "a2"))

    assert isinstance(outcome, Change)
    assert outcome.rows == (
        RowChange(RunRow.name_of("r1"), 1, RunRow(epoch=0, first=1, last=3), is_new=False),
        RowChange(ApprovalRow.name_of("a1"), 1, ASKED),
        RowChange(ApprovalRow.name_of("a2"), 1, ASKED),
    )


@pytest.mark.behaviour("thread.approvals")
def test_the_last_answer_and_the_run_that_goes_on_are_one_append() -> None:
    """An earlier answer is recorded and starts nothing; a process that dies behind the last leaves a run."""
    thread = waiting("a1", "a2")

    first = answer(thread, YES_1)

    assert isinstance(first, Change)
    assert (thread.last(1), first.signal) == ([("approval_answered", "r1")], False)
    assert first.rows[0].row == ApprovalRow(epoch=0, asked_by="r1", decision=YES_1)
    assert thread.head.waiting is not None
    assert thread.head.waiting.undecided == ("a2",)
    assert answer(thread, YES_2) == Stale()  # decided beside the other: the run must bring both

    last = answer(thread, YES_1, YES_2, claimed=True)

    assert isinstance(last, Change)
    assert thread.last(3) == [("approval_answered", "r1"), ("accepted", "r2"), ("claimed", "r2")]
    assert last.rows[0] == RowChange(ApprovalRow.name_of("a2"), 1, decided_by("r2", YES_2), is_new=False)
    assert (last.run_id, last.signal, thread.head.waiting) == ("r2", True, None)


@pytest.mark.behaviour("thread.approvals")
def test_an_answer_is_the_same_again_when_it_is_repeated() -> None:
    """The caller may have got no answer: one of several changes nothing, the last leads to the run that goes on."""
    several, last = waiting("a1", "a2"), waiting("a1")
    answer(several, YES_1)
    answer(last, YES_1)

    repeated = answer(last, YES_1, row=decided_by("r2", YES_1))

    assert answer(several, YES_1, row=ApprovalRow(epoch=0, asked_by="r1", decision=YES_1)) == Unchanged("")
    assert isinstance(repeated, Change)
    assert (last.last(1), repeated.run_id) == ([("attached", "r2")], "r2")


@pytest.mark.behaviour("thread.approvals")
def test_another_answer_to_a_decided_approval_is_refused() -> None:
    """The first one stands; the refusal names the run that goes on, where there is one."""
    several, last = waiting("a1", "a2"), waiting("a1")
    answer(several, YES_1)
    answer(last, YES_1)

    decided = answer(several, NO_1, row=ApprovalRow(epoch=0, asked_by="r1", decision=YES_1))
    gone_on = answer(last, NO_1, row=decided_by("r2", YES_1))

    assert [refusal(outcome) for outcome in (decided, gone_on)] == [ApprovalAnsweredError] * 2
    assert "Run r2 continues" in gone_on.error.detail  # type: ignore[union-attr]
    assert "Run" not in decided.error.detail  # type: ignore[union-attr]


@pytest.mark.behaviour("thread.approvals")
def test_an_answer_to_what_does_not_wait_is_refused() -> None:
    """Asked for by nobody, of a deleted thread, too late, forgotten by a reset, or of a thread that went on."""
    reset, gone_on = waiting("a1"), waiting("a1")
    reset.do(ResetThread(NOW))
    gone_on.do(accept("r2", at=NOW + 60, claimed=True))
    gone_on.do(end("r2", "a2", at=NOW + 60))

    assert refusal(answer(waiting("a1"), Decision(id="a9", approved=True), row=None)) is UnknownApprovalError
    assert refusal(answer(Thread(), YES_1, row=DeletedRow(epoch=0))) is ThreadDeletedError
    assert refusal(answer(waiting("a1"), YES_1, at=NOW + 60)) is ApprovalExpiredError
    assert refusal(answer(reset, YES_1)) is ApprovalExpiredError
    assert refusal(answer(gone_on, YES_1, at=NOW + 60)) is ApprovalExpiredError


@pytest.mark.behaviour("thread.approvals")
def test_approvals_that_a_run_asks_for_after_a_reset_wait_for_nobody() -> None:
    assert after(accept("r1", claimed=True), ResetThread(NOW), end("r1", "a1")).head.waiting is None


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
def test_decisions_on_other_calls_than_those_that_wait_are_refused() -> None:
    """Too few, too many, when nothing waits, too late, or behind the answer of somebody else."""
    both, third = (YES_1, YES_2), Decision(id="a3", approved=True)
    answered = waiting("a1", "a2")
    answer(answered, YES_1)

    for thread, command in (
        (waiting("a1", "a2"), accept("r2", decisions=(YES_1,))),
        (waiting("a1", "a2"), accept("r2", decisions=(*both, third))),
        (Thread(), accept("r2", decisions=(YES_1,))),
        (waiting("a1"), accept("r2", at=NOW + 60, decisions=(YES_1,))),
        (answered, accept("r2", decisions=both)),
    ):
        assert refusal(thread.do(command)) is ApprovalsVoidError


@pytest.mark.behaviour("thread.approvals")
def test_runs_that_waited_behind_one_that_asks_end_before_the_run_that_goes_on() -> None:
    """No model takes their messages, and they could wait for days: also those for which its append had no room."""
    thread = after(accept("r1", claimed=True))
    for number in range(MOST_ROWS):
        thread.do(accept(f"w{number}", queue_limit=200))
    thread.do(end("r1", "a1"))
    left = [run.id for run in thread.head.runs]
    assert thread.events[-1].code == "approvals_pending"  # type: ignore[union-attr]

    answer(thread, YES_1, claimed=True)
    assert thread.last(1) == [("accepted", "r2")]
    thread.do(ClaimRun(NOW, terms("e1", "entity")))
    thread.do(ClaimRun(NOW, terms("e1", "entity")))

    assert left == ["w48", "w49"]
    assert thread.last(3) == [("failed", "w48"), ("failed", "w49"), ("claimed", "r2")]


@pytest.mark.behaviour("thread.approvals")
def test_more_approvals_than_one_append_holds_are_refused() -> None:
    """The run fails by a sentence instead of an append that no store takes."""
    thread = after(accept("r1", claimed=True))

    outcome = thread.do(end("r1", *(f"a{number}" for number in range(MOST_APPROVALS + 1))))

    assert refusal(outcome) is UnstorableAnswerError
    assert thread.head.is_held_by("token-r1")
    assert isinstance(thread.do(end("r1", *(f"a{number}" for number in range(MOST_APPROVALS)))), Change)


@pytest.mark.behaviour("thread.approvals")
def test_an_answer_to_a_thread_that_is_being_deleted_signals_for_it() -> None:
    thread = waiting("a1")
    thread.do(DeleteThread(NOW))

    outcome = answer(thread, YES_1)

    assert (thread.head.waiting, outcome.signal) == (None, True)  # type: ignore[union-attr]


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
    thread = waiting("a1")
    answer(thread, Decision.of_value("a1", "well"), claimed=True)

    kept = thread.do(TrimThread(NOW, thread.head.position))
    thread.do(end("r2"))
    thread.do(TrimThread(NOW, thread.head.position - 1))

    assert (kept, thread.head.trimmed > 3) == (Unchanged(), True)
