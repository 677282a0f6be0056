"""Instances whose stores differ find it by the hub they share, and nobody else is told so."""

from __future__ import annotations

import pytest

from hosting.core.stores.memory import SharedMemory
from hosting.features.health.shared_store import ENTITY, KEY, LOOK_SECONDS, MARK, MARK_SECONDS
from tests.support.cluster.cluster import AppProcess, Cluster
from tests.support.cluster.engine import Signal, instance_of

pytestmark = [pytest.mark.moved_time, pytest.mark.behaviour("hosting.one-store")]
STATE = instance_of(ENTITY, KEY)


def elsewhere(cluster: Cluster) -> AppProcess:
    """Return a process of the same hub whose settings name another store."""
    memory, cluster.memory = cluster.memory, SharedMemory()
    process = cluster.process()
    cluster.memory = memory
    return process


async def is_ready(app: AppProcess, runs: AppProcess) -> bool:
    """Return what `health/ready` says of a process once another one has `run` what it signals."""
    await app.http.get("/api/health/ready")
    await app.cluster.deliver(runs)
    await app.cluster.sleep(LOOK_SECONDS)
    return (await app.http.get("/api/health/ready")).status_code == 200


async def test_two_stores_of_one_hub_are_found_by_either_instance(cluster: Cluster) -> None:
    """Also by one whose operations the other carries out, and which is never asked itself."""
    asked, runs = cluster.process(), elsewhere(cluster)
    assert not await is_ready(asked, runs)
    assert not await is_ready(runs, runs)


async def test_two_processes_with_one_store_are_ready(cluster: Cluster) -> None:
    """A rolling deployment changes nothing of that: the mark is the store's and not the process'."""
    processes = [cluster.process() for _ in range(3)]
    for runs in processes:
        assert [await is_ready(each, runs) for each in processes] == [True] * 3
        await cluster.sleep(MARK_SECONDS)


@pytest.mark.parametrize("state", ["", "{", "[]", '{"stores": 1}', '{"stores": {"a": {"since": "x"}}}', "5"])
async def test_a_state_that_cannot_be_read_is_replaced(cluster: Cluster, state: str) -> None:
    """Nothing is lost by that: who uses a store marks it again."""
    cluster.engine.documents[STATE] = state
    assert not await is_ready(cluster.process(), elsewhere(cluster))


@pytest.mark.parametrize(
    ("operation", "value"), [(MARK, {}), (MARK, "x"), (MARK, {"store": 5}), ("other", {"store": "a"})]
)
async def test_what_nobody_of_us_sends_is_refused_and_changes_nothing(
    cluster: Cluster, operation: str, value: object
) -> None:
    answer = await cluster.process().take(Signal(ENTITY, KEY, operation, value), is_signal=False)
    assert set(answer) == {"refused"}
    assert cluster.engine.documents.get(STATE) in (None, "null")
