"""A run begins: what is decided of it at the door."""

import pytest
from msgspec.structs import replace

from hosting.core.thread.commands import (
    AcceptRun,
    Change,
    ClaimRun,
    Command,
    DeleteThread,
    EndRun,
    FinishDelete,
    RecordSteps,
    Refused,
    ReleaseRun,
    RetryRun,
    Unchanged,
)
from hosting.core.thread.events import Completed, Delta, ModelResult, NoAnswer
from hosting.core.thread.rows import DeletedRow, KeyRow, RowChange, RunRow
from hosting.core.thread.run import Ended, superseded, text_so_far
from hosting.core.thread.run_request import Decision
from hosting.errors import (
    ApprovalsPendingError,
    HostingError,
    IdempotencyKeyReusedError,
    RunSupersededError,
    ThreadBusyError,
    ThreadDeletedError,
    ThreadDeletingError,
    TooManyRunsError,
)
from hosting.names import Busy
from hosting.ports import MOST_ROWS
from state.codec import write
from state.conversation import exchanges
from state.extension import Pause, host_of
from state.models import ResponseEntry
from tests.hosting.core.thread.played import after, run_of, stored, texts
from tests.support.state_documents import history_messages
from tests.support.threads import NOW, Thread, accept, answered, completed, end, refusal, terms

WORKS = accept("r1", claimed=True)
WAITS = (WORKS, end("r1", "a1", expires_at=NOW + 60))
DELETED = (DeleteThread(NOW), FinishDelete(NOW, {}))
ROW = KeyRow(epoch=0, run_id="r1", fingerprint="f")


def rejecting(command: AcceptRun) -> AcceptRun:
    """Return the command for a thread that has to be idle."""
    return replace(command, busy="reject")


REFUSED: dict[str, tuple[tuple[Command, ...], Command, type[HostingError]]] = {
    "the queue is full": ((accept("r1"), accept("r2")), accept("r3", queue_limit=2), TooManyRunsError),
    "the queue behind a run that works is full": ((WORKS, accept("r2")), accept("r3", queue_limit=1), TooManyRunsError),
    "its key stands for another request": (
        (),
        accept("r2", key="k", key_row=ROW.model_copy(update={"fingerprint": "another"})),
        IdempotencyKeyReusedError,
    ),
    "its key is of a life that is over": ((), accept("r2", key="k", key_row=DeletedRow(epoch=0)), ThreadDeletedError),
    "it came in a life that is over": (DELETED, replace(accept("r1"), epoch=0), ThreadDeletedError),
    "its thread is being deleted": (DELETED[:1], accept("r1"), ThreadDeletingError),
    "approvals wait": (WAITS, accept("r2"), ApprovalsPendingError),
    "it is to be the only run and another works": ((WORKS,), rejecting(accept("r2")), ThreadBusyError),
    "it is to be the only run and another is queued": ((accept("r1"),), rejecting(accept("r2")), ThreadBusyError),
    "it is to be the only run and approvals wait": (WAITS, rejecting(accept("r2")), ApprovalsPendingError),
}

FOUND: dict[str, tuple[tuple[Command, ...], Command]] = {
    "its key is repeated": ((accept("r1", claimed=True, key="k"), end("r1")), accept("r2", key="k", key_row=ROW)),
    "its key is repeated on a busy thread": (
        (accept("r1", claimed=True, key="k"), end("r1"), accept("r2", claimed=True)),
        rejecting(accept("r3", key="k", key_row=ROW)),
    ),
    "its own id is brought again": ((WORKS, end("r1")), accept("r1", known=RunRow(epoch=0, first=1, last=3))),
}


@pytest.mark.behaviour("thread.accept")
@pytest.mark.behaviour("thread.keys")
def test_a_run_whose_caller_waits_is_accepted_and_claimed_with_its_key_in_one_append() -> None:
    thread = after()

    outcome = thread.do(accept("r1", claimed=True, key="k"))

    assert isinstance(outcome, Change)
    assert (thread.kinds(), outcome.run_id, outcome.signal) == (["accepted", "claimed"], "r1", True)
    assert outcome.rows == (
        RowChange(RunRow.name_of("r1"), 1, RunRow(epoch=0, first=1)),
        RowChange(KeyRow.name_of("k"), 1, ROW),
    )
    assert thread.head.is_held_by("token-r1")


@pytest.mark.behaviour("thread.accept")
@pytest.mark.behaviour("thread.keys")
@pytest.mark.behaviour("thread.delete")
@pytest.mark.behaviour("thread.approvals")
@pytest.mark.behaviour("thread.busy-rejects")
@pytest.mark.parametrize(("before", "command", "error"), REFUSED.values(), ids=list(REFUSED))
def test_a_run_is_refused_and_the_thread_is_as_it_was(
    before: tuple[Command, ...], command: Command, error: type[HostingError]
) -> None:
    thread = after(*before)
    head = thread.head

    outcome = thread.do(command)

    assert isinstance(outcome, Refused)
    assert (type(outcome.error), thread.head) == (error, head)
    assert outcome.error.run_id == ("r1" if error is ThreadBusyError else None)  # which one is in the way
    assert outcome.signal == (error is ThreadDeletingError)  # whoever meets a deletion has it go on


@pytest.mark.behaviour("thread.accept")
@pytest.mark.behaviour("thread.keys")
@pytest.mark.behaviour("thread.busy-rejects")
@pytest.mark.parametrize(("before", "command"), FOUND.values(), ids=list(FOUND))
def test_a_run_that_ended_is_found_again(before: tuple[Command, ...], command: Command) -> None:
    assert after(*before).do(command) == Unchanged("r1")


@pytest.mark.behaviour("thread.keys")
def test_a_repeated_key_attaches_to_its_open_run() -> None:
    thread = after(accept("r1", key="k"))

    outcome = thread.do(accept("r2", key="k", key_row=ROW))

    assert isinstance(outcome, Change)
    assert (thread.last(1), outcome.run_id, outcome.signal) == ([("attached", "r1")], "r1", True)


@pytest.mark.behaviour("thread.busy-rejects")
def test_a_thread_whose_runs_have_ended_rejects_nobody() -> None:
    thread = after(rejecting(WORKS), end("r1"), rejecting(accept("r2", claimed=True)))

    assert thread.last(2) == [("accepted", "r2"), ("claimed", "r2")]


@pytest.mark.behaviour("thread.delete")
def test_a_run_on_a_deleted_thread_begins_its_next_life() -> None:
    """Positions go on, so no two events ever have the same; a request that knows the tombstone is taken too."""
    for command in (accept("r1"), replace(accept("r1"), epoch=1)):
        head = after(*DELETED, command).head

        assert (head.epoch, head.position, head.state) == (2, 3, "open")


@pytest.mark.behaviour("thread.approvals")
def test_a_message_is_taken_once_the_time_of_the_approvals_has_passed() -> None:
    thread = after(*WAITS, accept("r2", at=NOW + 60))

    assert thread.last(1) == [("accepted", "r2")]
    assert thread.head.waiting is None
    assert refusal(after(*WAITS).do(accept("r2", at=NOW + 59))) is ApprovalsPendingError


TAKING_OVER: tuple[Busy, ...] = ("interrupt", "rollback")


def busy(policy: Busy, run_id: str = "r2", **members: object) -> AcceptRun:
    """Return the command that begins a run whose caller waits, with this policy."""
    return replace(accept(run_id, claimed=True, **members), busy=policy)  # type: ignore[arg-type]


def working(*, claimed: bool = True) -> Thread:
    """Return a thread with an answered run and one that works."""
    return after(accept("r0", claimed=True), answered("r0", "Hi"), accept("r1", claimed=claimed))


def speak(thread: Thread, text: str, run_id: str = "r1", token: str | None = None, offset: int = 0) -> None:
    """Have the run that works say this, as a streamed one does."""
    delta = Delta(at=NOW, run_id=run_id, offset=offset, text=text)
    thread.do(RecordSteps(token or f"token-{run_id}", (delta,)))


def code_of(thread: Thread, run_id: str = "r1") -> str | None:
    """Return the code with which a run ended, None for one that has not."""
    end_of = run_of(thread, run_id).end
    return end_of.code if isinstance(end_of, NoAnswer) else None


@pytest.mark.behaviour("thread.busy-interrupts")
@pytest.mark.parametrize("policy", TAKING_OVER)
def test_a_run_that_works_is_told_in_the_append_that_accepts_the_next(policy: Busy) -> None:
    """So there is no moment in which one of the two stands alone, and the next one waits for its holder."""
    thread = working()

    outcome = thread.do(busy(policy))

    assert isinstance(outcome, Change)
    assert [event.kind for event in outcome.events] == ["cancel_requested", "accepted"]
    assert (outcome.run_id, outcome.signal, thread.head.is_held_by("token-r1")) == ("r2", True, True)


@pytest.mark.behaviour("thread.busy-interrupts")
@pytest.mark.parametrize("policy", TAKING_OVER)
def test_runs_that_nobody_has_begun_end_at_once_and_the_next_is_claimed(policy: Busy) -> None:
    """All of it in one append: nothing is before the next one any more."""
    thread = after(accept("r0"), accept("r1"))

    outcome = thread.do(busy(policy))

    assert isinstance(outcome, Change)
    kinds = ["cancel_requested", "cancel_requested", "cancelled", "cancelled", "accepted", "claimed"]
    assert [event.kind for event in outcome.events] == kinds
    assert thread.head.is_held_by("token-r2")


@pytest.mark.behaviour("thread.busy-interrupts")
@pytest.mark.parametrize(("policy", "code"), [("interrupt", "run_superseded"), ("rollback", "run_rolled_back")])
def test_runs_that_wait_behind_the_one_that_works_end_in_their_turn(policy: Busy, code: str) -> None:
    """Whoever waits for one is answered at once, by the end that it gets."""
    thread = working()
    thread.do(accept("queued"))

    thread.do(busy(policy))
    certain = run_of(thread, "queued").end
    thread.do(answered("r1", "Done", callers={"r2": terms("token-r2")}))

    assert isinstance(certain, NoAnswer)
    assert (certain.code, code_of(thread, "queued")) == (code, code)
    assert thread.last(1) == [("claimed", "r2")]


@pytest.mark.behaviour("thread.busy-interrupts")
@pytest.mark.parametrize("policy", TAKING_OVER)
def test_a_full_queue_takes_a_request_that_ends_what_is_queued(policy: Busy) -> None:
    """The bound is on runs that wait for their turn; an append still ends no more of them than it may."""
    thread = Thread()
    for number in range(MOST_ROWS + 10):
        thread.do(accept(f"q{number}", queue_limit=100))

    outcome = thread.do(busy(policy, queue_limit=1, key="k"))

    assert isinstance(outcome, Change)
    assert len(outcome.rows) == MOST_ROWS
    assert [run.id for run in thread.head.runs][-1] == "r2"
    assert refusal(thread.do(accept("r3", queue_limit=1))) is TooManyRunsError


@pytest.mark.behaviour("thread.busy-interrupts")
def test_what_an_interrupted_run_said_stays_for_the_model() -> None:
    """With what it was asked, in front of the next request; readers see by the status that it was cut short."""
    thread = working()
    speak(thread, "Once upon")
    thread.do(busy("interrupt"))

    run = run_of(thread)
    thread.do(EndRun("token-r1", superseded("r1", NOW, text_so_far(run)), callers={"r2": terms("token-r2")}))
    thread.do(answered("r2", "Yes"))

    assert texts(thread) == ["Hello from r0", "Hi", "Hello from r1", "Once upon", "Hello from r2", "Yes"]
    statuses = [each.status for each in exchanges(stored(thread)) if isinstance(each, ResponseEntry)]
    assert statuses == [None, "interrupted", None]
    assert (code_of(thread), run_of(thread).end.kind) == ("run_superseded", "cancelled")  # type: ignore[union-attr]


@pytest.mark.behaviour("thread.busy-interrupts")
def test_an_answer_that_comes_before_the_holder_knows_is_the_runs_end() -> None:
    thread = working()
    thread.do(busy("interrupt"))

    thread.do(answered("r1", "Done"))

    assert isinstance(run_of(thread).end, Completed)
    assert texts(thread)[-1] == "Done"


@pytest.mark.behaviour("thread.busy-interrupts")
def test_a_late_answer_that_asks_for_approvals_does_not_make_the_thread_wait() -> None:
    """The next request is accepted already; the holder is told with what the run ends instead."""
    thread = working()
    thread.do(busy("interrupt"))

    outcome = thread.do(end("r1", "a1"))

    assert refusal(outcome) is RunSupersededError


@pytest.mark.behaviour("thread.busy-interrupts")
@pytest.mark.parametrize("is_lost", [True, False])
def test_an_interrupted_run_whose_holder_is_lost_or_lets_go_is_claimed_to_be_ended(is_lost: bool) -> None:
    """With the words of the attempt before: the log has them, and the head has not."""
    thread = working()
    speak(thread, "Once upon")
    thread.do(busy("interrupt"))

    if not is_lost:
        thread.do(ReleaseRun(NOW, "token-r1", signalled=True))
        assert thread.last(1) == [("released", "r1")]
    thread.do(ClaimRun(NOW, terms("e1", "entity"), idle_append=thread.head.append_id))

    assert (thread.last(1), text_so_far(run_of(thread))) == ([("claimed", "r1")], "Once upon")


@pytest.mark.behaviour("thread.busy-interrupts")
def test_an_interrupted_run_that_loses_three_holders_has_not_crashed() -> None:
    thread = working()
    thread.do(busy("interrupt"))
    for number in range(3):
        thread.do(ClaimRun(NOW, terms(f"e{number}", "entity"), idle_append=thread.head.append_id))

    assert code_of(thread) == "run_superseded"


@pytest.mark.behaviour("thread.busy-interrupts")
def test_what_a_run_said_without_a_stream_is_what_its_model_answered_so_far() -> None:
    """The answers that asked for tool calls; those of agents that are tools are not its own."""
    thread = working()
    response = {"messages": [{"contents": [{"type": "text", "text": "Let me "}, {"type": "text", "text": "see."}]}]}
    asked = ModelResult(at=NOW, run_id="r1", number=1, digest="d", response=response)
    within = ModelResult(at=NOW, run_id="r1", number=1, within="1.call", digest="d", response=response)
    thread.do(RecordSteps("token-r1", (asked, within, asked.model_copy(update={"number": 2}))))

    assert text_so_far(run_of(thread)) == "Let me see.\n\nLet me see."


@pytest.mark.behaviour("thread.busy-rolls-back")
@pytest.mark.parametrize("approvals", [(), ("a1", "a2")])
def test_a_late_answer_of_a_run_that_was_rolled_back_is_dropped(approvals: tuple[str, ...]) -> None:
    """Whatever its holder makes of it. What it used counts: no budget is spent twice by taking runs back."""
    thread = working()
    speak(thread, "Once upon")
    thread.do(busy("rollback"))
    used = {"inputTokenCount": 30, "outputTokenCount": 10, "totalTokenCount": 40}
    entry = {**answered("r1", "Done").terminal.entry, "usage": used}

    thread.do(EndRun("token-r1", completed("r1", *approvals).model_copy(update={"entry": entry, "cost": 7})))

    assert (code_of(thread), thread.head.waiting, thread.head.used) == ("run_rolled_back", None, (40, 7))
    assert texts(thread) == ["Hello from r0", "Hi"]


@pytest.mark.behaviour("thread.busy-rolls-back")
def test_nothing_of_a_run_that_was_rolled_back_stays_in_the_conversation() -> None:
    """No entry, so nobody who reads the conversation sees that there was one; its run is found by its id."""
    thread = working()
    thread.do(accept("queued"))
    thread.do(busy("rollback"))
    thread.do(answered("r1", "Done", callers={"r2": terms("token-r2")}))
    thread.do(answered("r2", "Yes"))

    conversation = stored(thread)

    assert [entry.correlation_id for entry in exchanges(conversation)] == ["r0", "r0", "r2", "r2"]
    assert "r1" not in write(conversation)
    assert isinstance(run_of(thread).state, Ended)


@pytest.mark.behaviour("thread.busy-rolls-back")
@pytest.mark.parametrize("policy", TAKING_OVER)
def test_a_run_that_was_rolled_back_is_claimed_and_tried_no_more(policy: Busy) -> None:
    """Nor does it leave a title: the thread has that of the next request."""
    thread = after(accept("r1", claimed=True), busy(policy))

    thread.do(RetryRun(NOW, "token-r1", "t2", "run_failed"))

    is_claimed = thread.last(1) == [("claimed", "r1")]
    assert is_claimed == (policy == "interrupt")  # to be ended with what it said
    assert thread.head.title == ("Hello from r2" if policy == "rollback" else "Hello from r1")


@pytest.mark.behaviour("thread.busy-rolls-back")
def test_a_run_that_brought_decisions_is_rolled_back_and_its_calls_are_closed_by_the_next() -> None:
    """The decisions are made and are gone with it; nobody knows whether a call was made, and the model is told so."""
    requested = {"$type": "functionCall", "callId": "call", "name": "pay", "arguments": {}}
    entry = completed("r0").entry | {"messages": [{"role": "assistant", "contents": [requested]}]}
    asked = completed("r0", "a1", expires_at=NOW + 60).model_copy(update={"entry": entry})
    resumes = accept("r1", claimed=True, decisions=(Decision(id="a1", approved=True),))
    thread = after(accept("r0", claimed=True), EndRun("token-r0", asked), resumes, busy("rollback"))
    thread.do(answered("r1", "Paid", callers={"r2": terms("token-r2")}))

    assert host_of(stored(thread)).pause == Pause("r0", NOW + 60, is_over=True)
    thread.do(answered("r2", "Yes"))
    seen = [content for message in history_messages(stored(thread)) for content in message.contents]
    assert [(content.type, content.text or content.call_id) for content in seen][1:] == [
        ("function_call", "call"),
        ("function_result", "call"),
        ("text", "Hello from r2"),
        ("text", "Yes"),
    ]
