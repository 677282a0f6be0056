"""Reset and delete at the entity, delivered again and late."""

from __future__ import annotations

import asyncio
import json
import math
from typing import Any

import pytest

from hosting.core.entity.batch import UNREADABLE, Batch, Operation, parse_batch
from hosting.core.entity.thread_entity import UnfinishedError
from hosting.core.hooks import Signal
from hosting.core.retention import DAY_SECONDS
from hosting.core.sweeps import TombstoneSweep
from hosting.core.thread.commands import ClaimRun, ClaimTerms, DeleteThread
from hosting.core.thread.head import NEW
from hosting.names import Address, StoreKey, store_space
from tests.support.cluster.cluster import ADDRESS, HUB, INSTANCE, THREAD, AppProcess, Cluster

pytestmark = pytest.mark.moved_time


async def delete(app: AppProcess) -> None:
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


DAYS = 30
MARK = StoreKey(store_space(HUB, "deleted"), ADDRESS.key)


async def sweep(cluster: Cluster, process: AppProcess | None = None) -> None:
    """Sweep once in a process of its own, or that, when the days have passed."""
    cluster.wall_ahead += (DAYS + 1) * DAY_SECONDS
    process = process or cluster.process()
    await TombstoneSweep(process.log, process.attachments, HUB, DAYS).run(None)  # type: ignore[arg-type]  # asks nobody


@pytest.mark.behaviour("erasure.forgotten")
async def test_nothing_is_left_of_a_thread_behind_its_days(cluster: Cluster, app: AppProcess) -> None:
    """Neither head, events and rows nor the mark; its next life is a first one, and ends like the one before."""
    for message in ("one", "two"):
        run_id = await app.run(message)
        await delete(app)

        await sweep(cluster)

        app = cluster.process()
        assert await app.log.head(ADDRESS) == NEW
        assert await app.log.events(ADDRESS, 0) == []
        assert await app.store.row(ADDRESS, f"run:{run_id}") is None
        assert await app.attachments.names(MARK) == {}


@pytest.mark.behaviour("erasure.forgotten")
async def test_a_thread_that_lives_again_keeps_its_log_until_it_is_deleted_again(
    cluster: Cluster, app: AppProcess
) -> None:
    await app.run("one")
    await delete(app)
    kept = await app.run("two")

    await sweep(cluster)

    app = cluster.process()
    assert (app.places(), (await app.terminal(kept)).kind) == ([kept], "completed")
    assert await app.attachments.names(MARK) == {}
    await delete(app)
    await sweep(cluster)
    assert await cluster.process().log.head(ADDRESS) == NEW


@pytest.mark.behaviour("erasure.forgotten")
async def test_a_run_that_begins_a_life_beside_the_sweep_is_kept(
    cluster: Cluster, app: AppProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is accepted when the sweep has read the tombstone."""
    await app.run("one")
    await delete(app)
    other, begun = cluster.process(), list[str]()
    erase = other.store.erase

    async def begin_and_erase(address: Address, through: int) -> None:
        begun.append(await app.open("two"))
        await erase(address, through)

    monkeypatch.setattr(other.store, "erase", begin_and_erase)

    await sweep(cluster, other)
    await app.deliver(begun[0])

    assert app.places() == begun


async def answered(app: AppProcess, value: Any, *, is_signal: bool = True) -> Any:
    """Return the result of an operation `run` with this value."""
    return (await app.entity.answer(Batch(THREAD, None, (Operation("run", value, is_signal),)))).results[0]


async def drained(app: AppProcess, queued_seconds: Any) -> Any:
    """Return how the operation for the run `r2`, which waits behind another process's `r1`, ends with its process."""
    for run_id in ("r1", "r2"):
        await app.open(run_id, run_id)
    now = app.cluster.wall()
    await app.log.execute(ADDRESS, ClaimRun(now, ClaimTerms("elsewhere", "caller", 20.0, now + 300)))
    order = {"run_id": "r2", "logged": True, "queued_seconds": queued_seconds}
    operation = asyncio.ensure_future(answered(app, order))
    await app.cluster.sleep(0.5)
    await app.services.drain(0.0)
    return await operation


@pytest.mark.behaviour("service.leave")
@pytest.mark.behaviour("service.lost-runs")
@pytest.mark.parametrize(
    ("told", "seen"), [(7, 7), (-1, 0), (math.nan, 0), ("3600", 0)], ids=["waited", "negative", "nan", "a text"]
)
async def test_an_operation_that_watches_sends_itself_on_when_its_process_is_to_end(
    app: AppProcess, told: Any, seen: int
) -> None:
    """At once, with how long it saw its run wait, and what it was told of that by the operation before."""
    [signal] = (await drained(app, told)).signals

    queued = signal.value.pop("queued_seconds")
    assert signal == Signal(*ADDRESS.entity, "run", {"run_id": "r2", "logged": True})
    assert math.floor(queued) == seen
    assert "cancel_requested" not in await app.kinds()


@pytest.mark.behaviour("service.lost-runs")
async def test_a_run_that_waited_for_too_long_over_many_operations_is_cancelled(app: AppProcess) -> None:
    await drained(app, 3600)

    assert (await app.kinds())[-1] == "cancel_requested"


@pytest.mark.behaviour("hosting.run-limit-per-agent")
async def test_an_entity_begins_no_run_that_its_function_has_no_time_for() -> None:
    """It sends itself on at once, and a call is delivered again; the agent is not run."""
    app = Cluster(settings={"AGENT_RUN_TIMEOUT_SECONDS": "10"}).process()
    app.services.working_seconds = 9.0
    run_id = await app.open()

    done = await answered(app, {"run_id": run_id, "logged": True})
    with pytest.raises(UnfinishedError):
        await answered(app, {"message": "hi"}, is_signal=False)

    assert [signal.value["run_id"] for signal in done.signals] == [run_id]
    assert app.agent.turns == []


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('"{\\"a\\": 1}"', {"a": 1}),
        ('"\\"\\\\\\"text\\\\\\"\\""', "text"),
        ('{"a": 1}', {"a": 1}),
        (None, None),
        ("not json", UNREADABLE),
        ('"not json inside"', UNREADABLE),
        ("[" * 100_000, UNREADABLE),
    ],
)
@pytest.mark.parametrize(
    ("exists", "state", "read"), [(True, '{"a":1}', '{"a":1}'), (True, "null", None), (False, "{}", None)]
)
def test_inputs_are_read_through_their_encodings_and_the_stored_text_is_handed_on_as_it_is(
    text: str | None, value: object, exists: bool, state: str | None, read: str | None
) -> None:
    """Signals come doubly encoded, raw HTTP calls singly; `exists: true` with the text `null` is an empty thread."""
    operation = {"name": "run", "input": text, "isSignal": True}
    payload = {"self": {"name": "n", "key": "K"}, "exists": exists, "state": state, "batch": [operation]}

    batch = parse_batch(json.dumps(payload))

    assert (batch.operations[0].value, batch.state) == (value, read)
