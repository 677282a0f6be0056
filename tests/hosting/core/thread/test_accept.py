"""A run begins: what is decided of it at the door."""

import pytest
from msgspec.structs import replace

from hosting.core.thread.commands import AcceptRun, Change, Command, DeleteThread, FinishDelete, Refused, Unchanged
from hosting.core.thread.rows import DeletedRow, KeyRow, RowChange, RunRow
from hosting.errors import (
    ApprovalsPendingError,
    HostingError,
    IdempotencyKeyReusedError,
    ThreadBusyError,
    ThreadDeletedError,
    ThreadDeletingError,
    TooManyRunsError,
)
from tests.hosting.core.thread.played import after
from tests.support.threads import NOW, accept, end, refusal

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
