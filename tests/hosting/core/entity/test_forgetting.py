"""Reset and delete at the entity, delivered again and late."""

import time

import pytest

from hosting.core.entity.batch import Batch, Done, Operation
from hosting.core.hooks import Signal
from hosting.core.thread.commands import DeleteThread
from hosting.core.thread_log import epoch_store_key
from tests.support.bench import ADDRESS, HUB, Bench


async def delete(bench: Bench, *, commit: bool = True) -> None:
    """Delete the thread."""
    await bench.services.log.execute(ADDRESS, DeleteThread(time.time()))
    await bench.deliver({"logged": True}, name="delete", commit=commit)


@pytest.mark.behaviour("turn.reset")
@pytest.mark.parametrize("is_committed", [True, False])
async def test_a_reset_delivered_again_is_done_once(bench: Bench, is_committed: bool) -> None:
    """Lost before its commit it is done by the next delivery; committed, it leaves alone what was said since."""
    run_id = await bench.run("one")
    position = await bench.reset(commit=is_committed)
    if is_committed:
        await bench.run("two")

    await bench.deliver({"position": position}, name="reset")

    assert run_id not in bench.places()
    assert len(bench.places()) == is_committed
    await bench.run("recall")
    assert bench.agent.seen[-1] == (["two", "echo: two", "recall"] if is_committed else ["recall"])


@pytest.mark.behaviour("turn.reset")
async def test_a_conversation_that_cannot_be_read_is_not_reset(bench: Bench) -> None:
    """It stays byte for byte: whoever wrote it may still read it."""
    bench.state = '{"schemaVersion":"9.0.0"}'

    refused = await bench.deliver({"position": 1}, name="reset", signal=False)

    assert "cannot be read" in refused["refused"]
    assert bench.state == '{"schemaVersion":"9.0.0"}'


@pytest.mark.behaviour("turn.delete")
async def test_a_delete_that_nobody_asked_the_log_for_changes_nothing(bench: Bench) -> None:
    run_id = await bench.run("one")

    await bench.deliver({"logged": True}, name="delete")

    assert bench.places() == [run_id]


@pytest.mark.behaviour("turn.delete")
async def test_a_conversation_that_cannot_be_read_can_be_deleted(bench: Bench) -> None:
    bench.state = "not even JSON"

    await delete(bench)

    assert bench.state is None


@pytest.mark.behaviour("turn.deleted-run-dropped")
@pytest.mark.parametrize("restarted", [True, False])
async def test_a_run_that_waited_when_its_thread_was_deleted_is_dropped(bench: Bench, restarted: bool) -> None:
    """Its agent never runs and the thread stays deleted."""
    run_id = await bench.open("late")
    await delete(bench)
    if restarted:
        bench.restart()

    await bench.signal(run_id)

    assert bench.state is None
    assert bench.agent.seen == []


@pytest.mark.behaviour("turn.delete")
async def test_a_call_that_meets_a_deletion_under_way_has_it_gone_on_with(bench: Bench) -> None:
    """Whoever began it may have died before its signal."""
    await bench.run("one")
    await bench.services.log.execute(ADDRESS, DeleteThread(time.time()))
    call = Operation(name="run", value={"message": "two", "correlationId": "r2"}, is_signal=False)

    results = (await bench.entity.answer(Batch(key="t", state=bench.state, operations=(call,)))).results

    assert isinstance(results[0], Done)
    assert results[0].signals == (Signal("dafx-joker", "t", "delete", {"logged": True}),)


@pytest.mark.behaviour("turn.never-raises")
@pytest.mark.parametrize("operation", ["reset", "delete"])
@pytest.mark.parametrize("value", [None, 7, {}, {"position": "7", "logged": 1}, {"id": "a/b"}])
async def test_an_order_that_names_nothing_of_the_log_is_refused(bench: Bench, operation: str, value: object) -> None:
    run_id = await bench.run("one")

    refused = await bench.deliver(value, name=operation, signal=False)

    assert f"The operation {operation!r} takes an object with" in refused["refused"]
    assert bench.places() == [run_id]


@pytest.mark.behaviour("turn.delete")
async def test_what_was_uploaded_behind_the_end_of_a_life_goes_with_the_next_trim(bench: Bench) -> None:
    """As by a process that had slept; what belongs to the thread's present life stays."""
    await bench.run("one")
    await delete(bench)
    await bench.run("two")
    for epoch in (0, 2):
        await bench.attachments.put(epoch_store_key(HUB, ADDRESS, epoch), {"a" * 64: b"late"})

    await bench.deliver({"logged": True}, name="trim")

    assert [sorted(await bench.attachments.names(epoch_store_key(HUB, ADDRESS, epoch))) for epoch in (0, 2)] == [
        [],
        ["a" * 64],
    ]
