"""What a deletion leaves: its receipt, the instances that it names, and threads whose time is up."""

from __future__ import annotations

import hashlib

import pytest
from msgspec.structs import replace

from hosting.core.deletion import Instance, Receipt
from hosting.core.thread.run_request import RunRequest
from state.codec import read, write
from state.conversation import without_oldest
from tests.support.cluster.cluster import ADDRESS, INSTANCE, AppProcess, Cluster, call

pytestmark = pytest.mark.moved_time
Two = tuple[AppProcess, AppProcess]
OWN = Instance(id=INSTANCE)


async def carried(app: AppProcess, message: str, orchestration_id: str | None = None) -> None:
    request = RunRequest(message=message, orchestration_id=orchestration_id)
    run = await app.start(replace(call(), request=request))
    await app.deliver(run.run_id)
    app.cluster.engine.signals.clear()


async def deleted(app: AppProcess) -> Receipt:
    await app.threads.delete(ADDRESS, app.engine, 0.0)
    await app.cluster.deliver(app)
    return await app.threads.receipt(ADDRESS)


async def outcomes(app: AppProcess) -> list[str]:
    return [instance.outcome for instance in (await app.threads.receipt(ADDRESS)).instances]


@pytest.mark.behaviour("erasure.receipt")
async def test_a_receipt_says_what_was_deleted_and_names_each_orchestration_once(
    cluster: Cluster, app: AppProcess
) -> None:
    for message, orchestration_id in (("one", None), ("two", "o1"), ("three", "o2"), ("four", "o1")):
        await carried(app, message, orchestration_id)
    stored = cluster.engine.documents[INSTANCE].encode()

    receipt = await deleted(app)

    assert receipt.instances == (Instance(id="o1"), Instance(id="o2"), OWN)
    assert (receipt.reason, receipt.runs, receipt.archived_entries) == ("asked", 4, 0)
    assert (receipt.document_bytes, receipt.sha256) == (len(stored), hashlib.sha256(stored).hexdigest())


@pytest.mark.behaviour("erasure.receipt")
@pytest.mark.parametrize("document", ["no JSON", None], ids=["unreadable", "a gap in the archive"])
async def test_what_cannot_be_read_is_no_reason_to_keep_the_thread(
    cluster: Cluster, app: AppProcess, document: str | None
) -> None:
    await carried(app, "one", "o1")
    archived = write(without_oldest(read(cluster.engine.documents[INSTANCE]), 2))
    cluster.engine.documents[INSTANCE] = document or archived

    assert (await deleted(app)).instances == (Instance(id="o1"), OWN)
    assert cluster.engine.documents == {}


@pytest.mark.behaviour("erasure.instances")
async def test_an_engine_that_is_away_leaves_instances_pending(cluster: Cluster, app: AppProcess) -> None:
    """The deletion itself is done; whoever deletes again finishes it."""
    await carried(app, "one", "o1")
    await deleted(app)
    cluster.engine.is_away = True
    is_over_now = await app.purging.purge(ADDRESS, app.engine)
    pending = await outcomes(app)
    cluster.engine.is_away = False

    await app.threads.delete(ADDRESS, app.engine, 0.0)

    assert (is_over_now, pending) == (False, ["pending", "pending"])
    assert await outcomes(app) == ["deleted", "deleted"]


@pytest.mark.behaviour("erasure.instances")
async def test_the_entity_of_a_thread_that_begins_again_meanwhile_is_not_purged(cluster: Cluster, two: Two) -> None:
    one, other = two
    await carried(one, "one", "o1")
    await deleted(one)

    async def begin_again() -> None:
        await other.start(call("new", waits=False))

    cluster.engine.before_purge = begin_again
    await one.purging.purge(ADDRESS, one.engine)

    assert cluster.engine.purged == ["o1"]
    assert (await one.threads.receipt(ADDRESS)).instances[-1] == OWN


@pytest.mark.behaviour("erasure.instances")
async def test_a_document_that_is_still_there_under_the_tombstone_is_asked_to_go(
    cluster: Cluster, app: AppProcess
) -> None:
    """Its entity is needed for that, and is not purged."""
    await carried(app, "one")
    left = cluster.engine.documents[INSTANCE]
    await deleted(app)
    cluster.engine.documents[INSTANCE] = left

    await app.threads.delete(ADDRESS, app.engine, 0.0)

    assert cluster.engine.sent == [("delete", {"logged": True})]
    assert await outcomes(app) == ["pending"]


@pytest.mark.behaviour("erasure.message-wins")
async def test_a_message_that_comes_while_an_expired_thread_is_looked_at_wins(cluster: Cluster, two: Two) -> None:
    """Whether its run is still open or was answered at once."""
    one, other = two
    await carried(one, "one")

    async def come_first() -> None:
        await other.answered("two")

    one.store.before_append = come_first

    assert not await one.deletion.expire(ADDRESS, cluster.engine.documents[INSTANCE])
    assert (await one.log.head(ADDRESS)).state == "open"
