"""Reset and delete at the entity, delivered again and late."""

from collections.abc import Iterator

import pytest

from hosting.events import Place
from hosting.ports import Deletion
from tests.support.bench import Bench

PLACE = Place("joker", "t")


@pytest.fixture
def bench() -> Iterator[Bench]:
    """One thread and its engine."""
    bench = Bench()
    yield bench
    bench.loop.close()


@pytest.mark.behaviour("turn.reset")
@pytest.mark.parametrize("is_committed", [True, False])
async def test_a_reset_delivered_again_is_done_once(bench: Bench, is_committed: bool) -> None:
    """Lost before its commit it is done by the next delivery; committed, it leaves alone what was said since."""
    run_id = await bench.run("one")
    await bench.deliver({"id": "reset-1"}, name="reset", commit=is_committed)
    if is_committed:
        await bench.run("two")

    await bench.deliver({"id": "reset-1"}, name="reset")

    assert run_id not in bench.places()
    assert len(bench.places()) == is_committed
    await bench.run("recall")
    assert bench.agent.seen[-1] == (["two", "echo: two", "recall"] if is_committed else ["recall"])


@pytest.mark.behaviour("turn.reset")
async def test_a_run_that_was_forgotten_is_not_applied_by_a_late_delivery(bench: Bench) -> None:
    """The ledger outlives the reset."""
    run_id = await bench.run("one")
    await bench.deliver({"id": "reset-1"}, name="reset")

    await bench.signal(run_id)

    assert bench.places() == []
    assert len(bench.agent.seen) == 1


@pytest.mark.behaviour("turn.reset")
async def test_a_conversation_that_cannot_be_read_is_not_reset(bench: Bench) -> None:
    """It stays byte for byte: whoever wrote it may still read it."""
    bench.state = '{"schemaVersion":"9.0.0"}'

    refused = await bench.deliver({"id": "reset-1"}, name="reset", signal=False)

    assert "cannot be read" in refused["refused"]
    assert bench.state == '{"schemaVersion":"9.0.0"}'


@pytest.mark.behaviour("turn.delete")
async def test_a_late_second_delete_leaves_the_new_conversation_alone(bench: Bench) -> None:
    """The mark holds the digest of what was deleted, and this is something else."""
    await bench.run("one")
    await bench.store.mark_deleting(PLACE, "d-1")
    await bench.deliver({"id": "d-1"}, name="delete")
    kept = await bench.run("two")

    await bench.deliver({"id": "d-1"}, name="delete")

    assert bench.places() == [kept]


@pytest.mark.behaviour("turn.delete")
@pytest.mark.parametrize("mark", [None, Deletion("another")])
async def test_a_delete_without_its_mark_changes_nothing(bench: Bench, mark: Deletion | None) -> None:
    """It was done long ago, or never asked for here."""
    run_id = await bench.run("one")
    if mark is not None:
        await bench.store.mark_deleting(PLACE, mark.id)

    await bench.deliver({"id": "d-1"}, name="delete")

    assert bench.places() == [run_id]


@pytest.mark.behaviour("turn.delete")
async def test_a_conversation_that_cannot_be_read_can_be_deleted(bench: Bench) -> None:
    """To delete it nobody has to read it."""
    bench.state = "not even JSON"
    await bench.store.mark_deleting(PLACE, "d-1")

    await bench.deliver({"id": "d-1"}, name="delete")

    assert bench.state is None


@pytest.mark.behaviour("turn.deleted-run-dropped")
@pytest.mark.parametrize("restarted", [True, False])
async def test_a_run_that_waited_when_its_thread_was_deleted_is_dropped(bench: Bench, restarted: bool) -> None:
    """Its agent never runs and the thread stays deleted."""
    run_id = await bench.open("late")
    await bench.store.mark_deleting(PLACE, "d-1")
    await bench.deliver({"id": "d-1"}, name="delete")
    if restarted:
        bench.restart()

    await bench.signal(run_id)

    assert bench.state is None
    assert bench.agent.seen == []


@pytest.mark.behaviour("turn.never-raises")
@pytest.mark.parametrize("operation", ["reset", "delete"])
@pytest.mark.parametrize("value", [None, 7, {}, {"id": 7}, {"id": "a/b"}])
async def test_an_order_without_an_id_is_refused(bench: Bench, operation: str, value: object) -> None:
    """By a sentence; nothing is forgotten."""
    run_id = await bench.run("one")

    refused = await bench.deliver(value, name=operation, signal=False)

    assert refused == {"refused": f"The operation '{operation}' takes an object with an 'id'."}
    assert bench.places() == [run_id]
