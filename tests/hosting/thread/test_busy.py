"""A request whose thread has a run that has not ended: what becomes of it, and of that run."""

from dataclasses import replace

import pytest

from hosting.errors import ApprovalsPendingError, ThreadBusyError
from hosting.names import Busy
from hosting.thread.commands import AcceptRun, Change, Refused, Unchanged
from hosting.thread.rows import KeyRow
from tests.support.threads import NOW, Thread, accept, answered, end, refusal


def busy(policy: Busy, run_id: str = "r2", **members: object) -> AcceptRun:
    """Return the command that begins a run whose caller waits, with this policy."""
    return replace(accept(run_id, claimed=True, **members), busy=policy)  # type: ignore[arg-type]


@pytest.mark.behaviour("thread.busy-rejects")
def test_a_busy_thread_rejects_and_names_the_run_in_the_way() -> None:
    """Nothing is appended, so a later request is decided on the same thread."""
    thread = Thread()
    thread.do(accept("r1", claimed=True))
    before = thread.head

    outcome = thread.do(busy("reject"))

    assert refusal(outcome) is ThreadBusyError
    assert isinstance(outcome, Refused)
    assert (outcome.error.run_id, thread.head) == ("r1", before)


@pytest.mark.behaviour("thread.busy-rejects")
def test_a_run_that_is_only_queued_makes_a_thread_busy_too() -> None:
    """Nobody has claimed it, and it comes before whatever is accepted now."""
    thread = Thread()
    thread.do(accept("r1"))

    assert refusal(thread.do(busy("reject"))) is ThreadBusyError


@pytest.mark.behaviour("thread.busy-rejects")
def test_a_thread_whose_runs_have_ended_rejects_nobody() -> None:
    """The first request of a thread, and the one after an answer."""
    thread = Thread()

    thread.do(busy("reject", "r1"))
    thread.do(answered("r1", "done"))
    outcome = thread.do(busy("reject", "r2"))

    assert isinstance(outcome, Change)
    assert thread.last(2) == [("accepted", "r2"), ("claimed", "r2")]


@pytest.mark.behaviour("thread.busy-rejects")
def test_a_repeated_key_finds_its_run_however_busy_the_thread_is() -> None:
    """It is the same request, and was not rejected."""
    thread = Thread()
    thread.do(busy("reject", "r1", key="k"))
    thread.do(end("r1"))
    thread.do(accept("r2", claimed=True))

    outcome = thread.do(busy("reject", "r3", key="k", key_row=KeyRow(epoch=0, run_id="r1", fingerprint="f")))

    assert outcome == Unchanged("r1")


@pytest.mark.behaviour("thread.busy-rejects")
def test_a_thread_that_waits_for_approvals_is_not_busy() -> None:
    """It refuses a message by its own name, whatever the policy."""
    thread = Thread()
    thread.do(accept("r1", claimed=True))
    thread.do(end("r1", "a1", expires_at=NOW + 60))

    assert refusal(thread.do(busy("reject"))) is ApprovalsPendingError
