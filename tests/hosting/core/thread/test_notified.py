"""Whether the end of a run says that somebody is to be notified of it: the entity asks nobody else."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from hosting.core.thread import events
from hosting.core.thread.commands import (
    AcceptRun,
    CancelRun,
    DeleteThread,
    EndRun,
    FinishDelete,
    ResetThread,
    SetReceiver,
    Unchanged,
)
from hosting.core.thread.run import unanswered
from hosting.core.thread.run_request import OF_TASK
from hosting.errors import RunFailedError
from tests.support.threads import NOW, Thread, accept, end, refusal

pytestmark = pytest.mark.behaviour("thread.fold")

SET = SetReceiver(NOW, 0)


def asking(webhook: str, run_id: str = "r1") -> AcceptRun:
    """Return the command that begins a run whose request has that webhook."""
    command = accept(run_id, claimed=True)
    request = command.accepted.request.model_copy(update={"webhook": webhook})
    return replace(command, accepted=command.accepted.model_copy(update={"request": request}))


def notified(thread: Thread) -> list[bool]:
    """Return of each end whether it says so."""
    return [event.notifies for event in thread.events if isinstance(event, events.TERMINALS)]


def test_of_a_run_with_an_address_somebody_is_notified_however_it_ends() -> None:
    """Also behind a reset, and of one that never began; of a run without a webhook nobody."""
    thread = Thread()
    thread.do(asking("https://example.com/"))
    thread.do(accept("r2"))
    thread.do(asking("https://example.com/", "r3"))
    thread.do(CancelRun(NOW, "r3"))
    thread.do(ResetThread(NOW))
    thread.do(EndRun("token-r1", unanswered("r1", NOW, RunFailedError("It failed."))))
    thread.do(CancelRun(NOW, "r2"))

    assert notified(thread) == [True, False, True]
    assert b"notifies" not in events.encode(next(one for one in thread.events if isinstance(one, events.Cancelled)))


def test_of_a_run_of_a_task_somebody_is_once_its_thread_has_a_receiver() -> None:
    """That was recorded before the end. The second one changes nothing; a deleted thread has none any more."""
    thread = Thread()
    thread.do(asking(OF_TASK))
    thread.do(end())
    thread.do(asking(OF_TASK, "r2"))
    first, second = thread.do(SET), thread.do(SET)
    thread.do(end("r2"))
    thread.do(accept("r3", claimed=True))
    thread.do(end("r3"))
    thread.do(DeleteThread(NOW))
    gone = [refusal(thread.do(SET))]
    thread.do(FinishDelete(NOW, {}))
    gone.append(refusal(thread.do(SET)))
    thread.do(asking(OF_TASK, "r4"))
    thread.do(end("r4"))

    assert notified(thread) == [False, True, False, False]
    assert (type(first).__name__, second) == ("Change", Unchanged())
    assert [one and one.code for one in gone] == ["thread_deleting", "thread_deleted"]
