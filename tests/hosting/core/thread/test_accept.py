"""A run begins: what is decided of it at the door."""

import pytest
from msgspec.structs import replace

from hosting.core.thread.commands import Change, DeleteThread, FinishDelete, Refused, Unchanged
from hosting.core.thread.rows import DeletedRow, KeyRow, RowChange, RunRow
from hosting.errors import (
    ApprovalsPendingError,
    IdempotencyKeyReusedError,
    ThreadDeletedError,
    ThreadDeletingError,
    TooManyRunsError,
)
from tests.support.threads import NOW, Thread, accept, end, refusal


@pytest.mark.behaviour("thread.accept")
def test_a_run_whose_caller_waits_is_accepted_and_claimed_in_one_append() -> None:
    """The first write: the run exists, and is ours."""
    thread = Thread()

    outcome = thread.do(accept("r1", claimed=True))

    assert isinstance(outcome, Change)
    assert (thread.kinds(), outcome.run_id, outcome.signal) == (["accepted", "claimed"], "r1", True)
    assert outcome.rows == (RowChange(RunRow.name_of("r1"), 1, RunRow(epoch=0, first=1)),)
    assert thread.head.is_held_by("token-r1")


@pytest.mark.behaviour("thread.accept")
def test_a_run_with_a_webhook_is_kept_from_a_version_that_has_none() -> None:
    """It would end the run and notify nobody."""
    plain, hooked = Thread(), Thread()
    order = accept("r1")
    request = order.accepted.request.model_copy(update={"webhook": "https://example.com/"})

    plain.do(order)
    hooked.do(replace(order, accepted=order.accepted.model_copy(update={"request": request})))

    assert (plain.head.v, hooked.head.v) == (1, 7)


@pytest.mark.behaviour("thread.accept")
def test_a_run_behind_another_is_accepted_and_not_claimed() -> None:
    """One run at a time."""
    thread = Thread()
    thread.do(accept("r1", claimed=True))

    thread.do(accept("r2", claimed=True))

    assert thread.last(1) == [("accepted", "r2")]
    assert thread.head.is_held_by("token-r1")


@pytest.mark.behaviour("thread.accept")
def test_a_full_queue_takes_no_more() -> None:
    """Counted in the head, so exactly, in however many processes."""
    thread = Thread()
    thread.do(accept("r1"))
    thread.do(accept("r2"))

    outcome = thread.do(accept("r3", queue_limit=2))

    assert refusal(outcome) is TooManyRunsError


@pytest.mark.behaviour("thread.keys")
def test_a_key_is_written_with_its_run() -> None:
    """In the same append, so the two never part."""
    outcome = Thread().do(accept("r1", key="k"))

    assert isinstance(outcome, Change)
    assert outcome.rows[1] == RowChange(KeyRow.name_of("k"), 1, KeyRow(epoch=0, run_id="r1", fingerprint="f"))


@pytest.mark.behaviour("thread.keys")
def test_a_repeated_key_attaches_to_its_run() -> None:
    """Open or ended, it begins no other one."""
    thread = Thread()
    thread.do(accept("r1", key="k"))
    row = KeyRow(epoch=0, run_id="r1", fingerprint="f")

    outcome = thread.do(accept("r2", key="k", key_row=row))

    assert isinstance(outcome, Change)
    assert (thread.last(1), outcome.run_id, outcome.signal) == ([("attached", "r1")], "r1", True)


@pytest.mark.behaviour("thread.keys")
def test_a_repeated_key_of_a_run_that_ended_finds_it() -> None:
    """Nothing is promised that is not there."""
    thread = Thread()
    thread.do(accept("r1", claimed=True, key="k"))
    thread.do(end("r1"))

    outcome = thread.do(accept("r2", key="k", key_row=KeyRow(epoch=0, run_id="r1", fingerprint="f")))

    assert outcome == Unchanged("r1")


@pytest.mark.behaviour("thread.keys")
def test_a_key_with_another_request_is_refused() -> None:
    """The first request decides."""
    row = KeyRow(epoch=0, run_id="r1", fingerprint="another")

    outcome = Thread().do(accept("r2", key="k", key_row=row))

    assert refusal(outcome) is IdempotencyKeyReusedError


@pytest.mark.behaviour("thread.keys")
def test_a_key_that_a_failed_signal_freed_begins_a_run() -> None:
    """Its row is there and is replaced."""
    outcome = Thread().do(accept("r2", key="k", key_row=KeyRow(epoch=0, run_id=None, fingerprint="another")))

    assert isinstance(outcome, Change)
    assert outcome.rows[1].is_new is False


@pytest.mark.behaviour("thread.keys")
def test_a_key_of_a_deleted_thread_begins_no_run() -> None:
    """It was used, and what it began is gone."""
    outcome = Thread().do(accept("r2", key="k", key_row=DeletedRow(epoch=0)))

    assert refusal(outcome) is ThreadDeletedError


@pytest.mark.behaviour("thread.accept")
def test_a_run_id_that_a_caller_brings_again_finds_its_run() -> None:
    """An operation that carries its request may be delivered twice."""
    thread = Thread()
    thread.do(accept("r1", claimed=True))
    thread.do(end("r1"))

    assert thread.do(accept("r1", known=RunRow(epoch=0, first=1, last=3))) == Unchanged("r1")


@pytest.mark.behaviour("thread.delete")
def test_a_thread_that_is_being_deleted_takes_no_run() -> None:
    """And whoever meets that signals, so that it comes to its end."""
    thread = Thread()
    thread.do(DeleteThread(NOW))

    outcome = thread.do(accept("r1"))

    assert refusal(outcome) is ThreadDeletingError
    assert outcome == Refused(outcome.error, signal=True)  # type: ignore[union-attr]


@pytest.mark.behaviour("thread.delete")
def test_a_run_on_a_deleted_thread_begins_the_next_epoch() -> None:
    """Positions go on, so no two events ever have the same."""
    thread = Thread()
    thread.do(DeleteThread(NOW))
    thread.do(FinishDelete(NOW, {}))

    thread.do(accept("r1"))

    assert (thread.head.epoch, thread.head.position, thread.head.state) == (2, 3, "open")


@pytest.mark.behaviour("thread.approvals")
def test_a_message_is_refused_while_approvals_wait() -> None:
    """No model takes a message before the results of its calls."""
    thread = Thread()
    thread.do(accept("r1", claimed=True))
    thread.do(end("r1", "a1", expires_at=NOW + 60))

    outcome = thread.do(accept("r2"))

    assert refusal(outcome) is ApprovalsPendingError


@pytest.mark.behaviour("thread.approvals")
def test_a_message_is_taken_once_the_time_of_the_approvals_has_passed() -> None:
    """Then they wait no more."""
    thread = Thread()
    thread.do(accept("r1", claimed=True))
    thread.do(end("r1", "a1", expires_at=NOW + 60))

    thread.do(accept("r2", at=NOW + 60))

    assert thread.last(1) == [("accepted", "r2")]
    assert thread.head.waiting is None


@pytest.mark.behaviour("thread.delete")
def test_a_request_that_comes_from_an_earlier_life_of_the_thread_begins_no_run() -> None:
    """An operation that was carried out twice may have been refused by the other."""
    thread = Thread()
    thread.do(DeleteThread(NOW))
    thread.do(FinishDelete(NOW, {}))
    late = replace(accept("r1"), epoch=0)

    assert refusal(thread.do(late)) is ThreadDeletedError
    thread.do(replace(late, epoch=1))
    assert thread.last(1) == [("accepted", "r1")]
