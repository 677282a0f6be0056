"""Reset and delete at the entity, delivered again and late."""

from __future__ import annotations

import pytest

from hosting.core.entity.batch import Batch, Done, Operation
from hosting.core.hooks import Signal
from hosting.core.thread.commands import DeleteThread
from tests.support.cluster.cluster import ADDRESS, INSTANCE, THREAD, AppProcess

pytestmark = pytest.mark.moved_time


async def delete(app: AppProcess) -> None:
    """Delete the thread."""
    await app.log.execute(ADDRESS, DeleteThread(app.cluster.wall()))
    await app.operate({"logged": True}, "delete")


@pytest.mark.behaviour("turn.reset")
@pytest.mark.parametrize("is_committed", [True, False])
async def test_a_reset_delivered_again_is_done_once(app: AppProcess, is_committed: bool) -> None:
    """Lost before its commit it is done by the next delivery; committed, it leaves alone what was said since."""
    await app.run("one")
    position = await app.reset(commit=is_committed)
    since = [await app.run("two")] if is_committed else []

    await app.operate({"position": position}, "reset")

    assert app.places() == since
    await app.run("recall")
    assert app.agent.turns[-1] == (["two", "echo: two", "recall"] if is_committed else ["recall"])


@pytest.mark.behaviour("turn.reset")
@pytest.mark.behaviour("turn.delete")
async def test_a_conversation_that_cannot_be_read_is_deleted_and_not_reset(app: AppProcess) -> None:
    """It stays byte for byte until then: whoever wrote it may still read it."""
    documents, unread = app.cluster.engine.documents, '{"schemaVersion":"9.0.0"}'
    documents[INSTANCE] = unread

    refused = await app.operate({"position": 1}, "reset", is_signal=False)

    assert "cannot be read" in refused["refused"]
    assert documents[INSTANCE] == unread
    await delete(app)
    assert INSTANCE not in documents


@pytest.mark.behaviour("turn.delete")
async def test_a_delete_that_nobody_asked_the_log_for_changes_nothing(app: AppProcess) -> None:
    """As one that comes late, in the thread's next life."""
    run_id = await app.run("one")

    await app.operate({"logged": True}, "delete")

    assert app.places() == [run_id]


@pytest.mark.behaviour("turn.deleted-run-dropped")
async def test_a_run_that_waited_when_its_thread_was_deleted_is_dropped(two: tuple[AppProcess, AppProcess]) -> None:
    """Its agent never runs and the thread stays deleted."""
    one, other = two
    run_id = await one.open("late")
    await delete(one)

    await other.deliver(run_id)

    assert (INSTANCE in one.cluster.engine.documents, other.agent.turns) == (False, [])


@pytest.mark.behaviour("turn.delete")
async def test_a_call_that_meets_a_deletion_under_way_has_it_gone_on_with(app: AppProcess) -> None:
    """Whoever began it may have died before its signal."""
    await app.run("one")
    await app.log.execute(ADDRESS, DeleteThread(app.cluster.wall()))
    call = Operation(name="run", value={"message": "two", "correlationId": "r2"}, is_signal=False)
    batch = Batch(key=THREAD, state=app.cluster.engine.documents[INSTANCE], operations=(call,))

    [result] = (await app.entity.answer(batch)).results

    assert isinstance(result, Done)
    assert result.signals == (Signal(*ADDRESS.entity, "delete", {"logged": True}),)


@pytest.mark.behaviour("turn.delete")
async def test_what_was_uploaded_behind_the_end_of_a_life_goes_with_the_next_trim(app: AppProcess) -> None:
    """As by a process that had slept; what belongs to the thread's present life stays."""
    await app.run("one")
    await delete(app)
    await app.run("two")
    for epoch in (0, 2):
        await app.attachments.put(app.place(epoch), {"a" * 64: b"late"})

    await app.operate({"logged": True}, "trim")

    left = [sorted(await app.attachments.names(app.place(epoch))) for epoch in (0, 2)]
    assert left == [[], ["a" * 64]]
