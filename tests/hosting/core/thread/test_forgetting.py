"""Reset, deletion and trimming: what a thread forgets, and what it keeps."""

import pytest

from hosting.core.thread.commands import (
    AttachToRun,
    CancelRun,
    Change,
    Command,
    DeleteThread,
    DescribeThread,
    FinishDelete,
    ImportThread,
    RecordInstances,
    ResetThread,
    TrimThread,
    Unchanged,
)
from hosting.core.thread.head import Head
from hosting.core.thread.rows import RunRow
from hosting.core.thread.run_request import InstanceOutcome
from hosting.core.thread.sources import AssignedSource
from hosting.errors import ThreadChangedError, ThreadDeletedError, ThreadDeletingError
from tests.hosting.core.thread.played import after
from tests.support.threads import NOW, Thread, accept, end, refusal

HELD = accept("r1", claimed=True)


def tombstone() -> Thread:
    """Return a thread that was deleted while one run was open."""
    return after(HELD, DeleteThread(NOW), FinishDelete(NOW, {"runs": 1}))


@pytest.mark.behaviour("thread.reset")
def test_a_reset_is_an_event_and_a_signal() -> None:
    """The entity empties the document when it comes by; the log says so at once. What is deleted has none."""
    thread = after(accept("r1"))

    outcome = thread.do(ResetThread(NOW))

    assert isinstance(outcome, Change)
    assert (thread.last(1), outcome.signal) == ([("reset", "")], True)
    assert (thread.head.resets, thread.head.reset_at, thread.head.title) == (1, 2, "")
    assert refusal(after(DeleteThread(NOW)).do(ResetThread(NOW))) is ThreadDeletingError
    assert tombstone().do(ResetThread(NOW)) == Unchanged()


@pytest.mark.behaviour("thread.temporary")
def test_a_temporary_thread_takes_no_second_run() -> None:
    """It is to go; the one that it has is found again, and the thread's next life is like any other."""
    thread = after(accept("r1", claimed=True, temporary=True))
    again = thread.do(accept("r1", known=RunRow(epoch=0, first=1)))
    second = thread.do(accept("r2"))
    thread.do(end("r1"))
    late = thread.do(accept("r2"))
    for command in (DeleteThread(NOW, position=thread.head.position), FinishDelete(NOW, {})):
        thread.do(command)

    assert [refusal(each) for each in (again, second, late)] == [None, ThreadDeletingError, ThreadDeletingError]
    assert isinstance(thread.do(accept("r2")), Change)
    assert thread.head.temporary is False


@pytest.mark.behaviour("thread.metadata")
def test_metadata_that_was_read_is_replaced_only_while_it_is_there() -> None:
    """Of two that read it at once and write, the second is refused and reads again. No trimming takes it."""
    thread = after(DescribeThread(NOW, 0, {"title": "A"}, described=0))
    late = thread.do(DescribeThread(NOW, 0, {"pinned": "true"}, described=0))
    again = thread.do(DescribeThread(NOW, 0, {"title": "A", "pinned": "true"}, described=1))
    thread.do(ResetThread(NOW))
    thread.do(TrimThread(NOW, 3))

    assert refusal(late) is ThreadChangedError
    assert isinstance(again, Change)
    assert (again.head.name, again.head.pinned) == ("A", True)
    assert (thread.head.trimmed, thread.head.metadata) == (3, {"title": "A", "pinned": "true"})


@pytest.mark.behaviour("thread.metadata")
def test_metadata_is_of_one_life_of_a_thread() -> None:
    """A thread may begin with it; it is refused while that is deleted, and for a life that is over."""
    thread = Thread()
    outcome = thread.do(DescribeThread(NOW, 0, {"for": "a test"}))
    thread.do(DeleteThread(NOW))
    deleting = thread.do(DescribeThread(NOW, 0, {}))
    thread.do(FinishDelete(NOW, {}))
    deleted = thread.do(DescribeThread(NOW, 1, {}))
    thread.do(accept("r1"))
    late = thread.do(DescribeThread(NOW, 0, {}))

    assert isinstance(outcome, Change)
    assert (outcome.head.described, outcome.signal, thread.head.described) == (1, True, 0)
    assert [refusal(each) for each in (deleting, deleted, late)] == [
        ThreadDeletingError,
        ThreadDeletedError,
        ThreadDeletedError,
    ]


@pytest.mark.behaviour("thread.metadata")
def test_an_import_brings_metadata_too() -> None:
    """In one append, which is repeatable for as long as nothing came after it."""
    thread = Thread()
    bring = ImportThread(NOW, "{}", AssignedSource("another", 0, 1), 0, {"for": "a test"})
    outcomes = [thread.do(bring), thread.do(bring), thread.do(accept("r1")), thread.do(bring)]

    assert [refusal(each) for each in outcomes] == [None, None, None, ThreadChangedError]
    assert (thread.kinds(), thread.head.described) == (["imported", "described"] * 2 + ["accepted"], 4)


@pytest.mark.behaviour("thread.delete")
def test_a_deletion_ends_all_open_runs() -> None:
    """With the event that begins it; one of what was read takes nothing that came since."""
    thread = after(HELD, accept("r2"))

    late = thread.do(DeleteThread(NOW, position=thread.head.position - 1))
    outcome = thread.do(DeleteThread(NOW + 1, position=thread.head.position))

    assert late == Unchanged()
    assert isinstance(outcome, Change)
    assert (thread.last(1), outcome.signal) == ([("deleting", "")], True)
    assert (thread.head.waiting, thread.head.changed_at) == (None, NOW + 1)
    assert (thread.head.state, thread.head.runs, thread.head.claim) == ("deleting", (), None)


@pytest.mark.behaviour("thread.delete")
def test_a_tombstone_has_a_new_epoch_and_nothing_else() -> None:
    """It wins over any document, signal or copy of an older one; its receipt stands in its event."""
    thread = tombstone()

    assert thread.head == Head(append_id="append-4", epoch=1, position=4, trimmed=3, state="deleted", changed_at=NOW)
    assert thread.events[-1].receipt == {"runs": 1}  # type: ignore[union-attr]


@pytest.mark.behaviour("thread.delete")
@pytest.mark.parametrize("command", [DeleteThread(NOW), FinishDelete(NOW, {})], ids=["deleted", "buried"])
def test_a_thread_is_deleted_once(command: Command) -> None:
    """Again it changes nothing, and asks for no signal; nor does a burial that comes late in a later life."""
    assert tombstone().do(command) == Unchanged()

    thread = tombstone()
    thread.do(accept("r2"))
    assert thread.do(FinishDelete(NOW, {})) == Unchanged()
    assert thread.head.state == "open"


@pytest.mark.behaviour("thread.delete")
def test_whoever_meets_a_deletion_signals_too() -> None:
    """Whoever began it may have died before its signal."""
    thread = after(accept("r1"), DeleteThread(NOW))

    assert thread.do(DeleteThread(NOW)) == Unchanged(signal=True)
    for command in (AttachToRun(NOW, "r1"), CancelRun(NOW, "r1")):
        assert thread.do(command) == Unchanged("r1", signal=True)


@pytest.mark.behaviour("thread.delete")
def test_a_thread_whose_time_is_up_is_kept_while_a_run_is_open() -> None:
    thread = after(HELD)

    assert thread.do(DeleteThread(NOW, "expired")) == Unchanged()
    thread.do(end("r1"))
    assert thread.do(DeleteThread(NOW, "expired", position=2)) == Unchanged()
    thread.do(DeleteThread(NOW, "expired", position=3))
    assert thread.last(1) == [("deleting", "")]


@pytest.mark.behaviour("thread.delete")
def test_what_became_of_instances_stands_behind_the_tombstone_and_moves_nothing_else() -> None:
    thread = tombstone()
    before = thread.head
    instances = (InstanceOutcome(id="o1", outcome="deleted"),)

    thread.do(RecordInstances(NOW, 1, instances))

    assert thread.last(1) == [("settled", "")]
    assert thread.head == before.model_copy(update={"append_id": "append-5", "position": 5})
    thread.do(accept("r2"))
    assert thread.do(RecordInstances(NOW, 1, instances)) == Unchanged()


@pytest.mark.behaviour("thread.trim")
def test_what_a_document_holds_may_be_trimmed_and_nothing_that_is_needed() -> None:
    """The head says so first. An open run begins with its request, and a run goes on from the one that asked."""
    thread, asks = after(HELD, end("r1"), TrimThread(NOW, 3)), after(HELD, end("r1", "a1"))

    assert (thread.kinds()[-1], thread.head.trimmed) == ("trimmed", 3)
    assert thread.do(TrimThread(NOW, 3)) == Unchanged()
    assert after(HELD, accept("r2"), end("r1"), TrimThread(NOW, 4)).head.trimmed == 2
    assert asks.do(TrimThread(NOW, 3)) == Unchanged()
