"""Threads of a cluster with little room for recent entries, so that most are archived: forked, forgotten, and kept."""

from __future__ import annotations

from typing import Any

from hosting.core.stores.memory import MemoryThreadStore
from hosting.core.sweeps import UploadSweep
from hosting.core.thread_log import epoch_store_key, store_key
from hosting.features.forks.feature import ForksFeature
from hosting.features.forks.forking import ForkCall, Forked, ForkPoint
from hosting.listing import Window
from hosting.names import Address
from state.attachments import Exchange
from tests.support.cluster.cluster import ADDRESS, AGENT, HUB, AppProcess, Cluster

SETTINGS = {"AGENT_RECENT_BYTES": "2048", "AGENT_ATTACHMENT_BYTES": "4096"}
BOUNDS: dict[str, Any] = {
    "patience_seconds": 0.1,
    "quiet_seconds": {"ended": 0.0, "missing": 0.0, "at work": 60.0},  # nothing is under way while somebody purges
}


def archiving_cluster(**options: Any) -> Cluster:
    """Return a cluster whose threads are archived early."""
    return Cluster(settings=SETTINGS, bounds=BOUNDS, **options)


async def fork(app: AppProcess, thread_id: str | None = None, origin: Address = ADDRESS, **wanted: Any) -> Forked:
    """Fork a thread; `key` is the idempotency key."""
    key = wanted.pop("key", None)
    forking = app.feature(ForksFeature).older_runs._forking
    return await forking.fork(origin, ForkCall(ForkPoint(**wanted), thread_id, key), app.engine)


async def delete(app: AppProcess, address: Address = ADDRESS) -> None:
    """Delete a thread, and let its entity have done it."""
    await app.threads.delete(address, app.engine, 0.0)
    await app.cluster.deliver(app)
    await app.threads.delete(address, app.engine, 0.0)


async def reset(app: AppProcess, address: Address = ADDRESS) -> None:
    """Reset a thread, and let its entity have done it."""
    await app.threads.reset(address, app.engine)
    await app.cluster.deliver(app)


async def sweep_uploads(app: AppProcess) -> None:
    """Sweep over the uploads, and let entities do what that signals."""
    await UploadSweep(app.stores.attachments, HUB, lambda: [AGENT], clocks=app.cluster.clocks).run(app.engine)
    await app.cluster.deliver(app)


async def entries(app: AppProcess, address: Address = ADDRESS) -> list[tuple[int, Exchange]]:
    """Return the conversation's entries with their positions."""
    window = Window(10_000, None, None, is_newest_first=False)
    return (await app.threads.messages(address, window, app.engine)).entries


async def kept(cluster: Cluster, address: Address = ADDRESS) -> tuple[int, int, int]:
    """Return how many objects of a thread's archive there are, of its attachments, and the position of its head."""
    head, thread, counts = await MemoryThreadStore(HUB, cluster.memory).head(address), store_key(HUB, address), []
    for store in (cluster.archive, cluster.attachments):
        names = [await store.names(epoch_store_key(HUB, address, epoch)) for epoch in await store.epochs(thread)]
        counts.append(sum(map(len, names)))
    return counts[0], counts[1], 0 if head is None else head.position


async def loans(cluster: Cluster, address: Address = ADDRESS) -> int:
    """Return how many forks have borrowed of a thread."""
    epochs = await cluster.archive.epochs(store_key(HUB, address))
    places = [epoch_store_key(HUB, address, epoch) for epoch in epochs]
    return sum([len(await cluster.archive.names(place, "loan-")) for place in places])
