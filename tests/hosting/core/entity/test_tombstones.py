"""What is left of a deleted thread goes after its days, and only then."""

from __future__ import annotations

import pytest

from hosting.core.retention import DAY_SECONDS
from hosting.core.sweeps import TombstoneSweep
from hosting.core.thread.commands import DeleteThread
from hosting.core.thread.head import NEW
from hosting.errors import AttachmentsUnavailableError
from hosting.names import Address, StoreKey, store_space
from tests.support.cluster.cluster import ADDRESS, HUB, AppProcess, Cluster

DAYS = 30
MARK = StoreKey(store_space(HUB, "deleted"), ADDRESS.key)

pytestmark = [pytest.mark.moved_time, pytest.mark.behaviour("erasure.forgotten")]


async def delete(app: AppProcess) -> None:
    """Delete the thread."""
    await app.log.execute(ADDRESS, DeleteThread(app.cluster.wall()))
    await app.operate({"logged": True}, "delete")


async def sweep(cluster: Cluster, process: AppProcess | None = None) -> None:
    """Sweep once in a process of its own, or that, when the days have passed."""
    cluster.wall_ahead += (DAYS + 1) * DAY_SECONDS
    process = process or cluster.process()
    await TombstoneSweep(process.log, process.attachments, HUB, DAYS).run(None)  # type: ignore[arg-type]  # asks nobody


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


async def test_an_erasure_whose_commit_was_lost_is_forgotten_like_any(
    cluster: Cluster, app: AppProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process may die between the tombstone and what is put for the sweep."""
    await app.run("one")

    async def fail(*_: object) -> None:
        raise AttachmentsUnavailableError("The store is away.")

    with monkeypatch.context() as away:
        away.setattr(app.attachments, "put", fail)
        with pytest.raises(AttachmentsUnavailableError):
            await delete(app)
    assert (await app.log.head(ADDRESS)).state == "deleted"
    assert await app.attachments.names(MARK) == {}

    await app.operate({"logged": True}, "delete")
    await sweep(cluster)

    assert await cluster.process().log.head(ADDRESS) == NEW


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
