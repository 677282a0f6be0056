"""Memories of owners over a store: two processes, answers that are lost, other versions, other kinds of stores."""

from __future__ import annotations

import json

import pytest

from hosting.core.cells import Cells
from hosting.core.stores.contract import Append, StoredHead
from hosting.core.stores.memory import MemoryObjects, MemoryThreadStore, SharedMemory
from hosting.core.thread_log import PATIENCE_SECONDS, ThreadLog
from hosting.errors import NewerVersionError
from hosting.features.memory.facts import Memories
from hosting.features.memory.provider import Fact, fact_id_of
from hosting.names import Address, new_id
from tests.support.thread_stores import ArmedStore

AGENT, OWNER = "Clerk", "a" * 16
ADDRESS = Address("clerk.memory", "facts", OWNER)


def fact(text: str, fact_id: str | None = None) -> Fact:
    return Fact(id=fact_id or new_id(), text=text, at=1.0)


def texts(facts: tuple[Fact, ...]) -> list[str]:
    return [one.text for one in facts]


def memories_of(store: ArmedStore, patience_seconds: float = 0.1) -> Memories:
    """Return the memories of one process, which waits so long for a store that is away."""
    log = ThreadLog(store, MemoryObjects(), "hub", patience_seconds=patience_seconds)
    return Memories(Cells(store, log), log.clocks)


@pytest.fixture
def store() -> ArmedStore:
    return ArmedStore(MemoryThreadStore(SharedMemory()))


@pytest.mark.behaviour("memory.once")
async def test_two_processes_that_remember_at_once_lose_nothing_of_each_other(store: ArmedStore) -> None:
    one, two = memories_of(store), memories_of(store)
    await one.remember(AGENT, OWNER, fact("first"))
    store.before_append = lambda: two.remember(AGENT, OWNER, fact("second"))

    await one.remember(AGENT, OWNER, fact("third"))

    assert texts(await two.facts(AGENT, OWNER)) == ["first", "second", "third"]


@pytest.mark.behaviour("memory.once")
async def test_a_call_that_is_made_again_after_a_lost_answer_remembers_once(store: ArmedStore) -> None:
    memories, call = memories_of(store, PATIENCE_SECONDS), fact_id_of("run-1.call-1")
    store.fails = ["answer lost", "answer lost"]

    known = [
        await memories.remember(AGENT, OWNER, fact(text, call)) for text in ("Likes tea", "Likes it", "likes  TEA")
    ]

    assert {one.text for one in known} == {"Likes tea"}
    assert texts(await memories.facts(AGENT, OWNER)) == ["Likes tea"]


@pytest.mark.behaviour("memory.versions")
async def test_a_memory_of_a_newer_version_is_left_as_it_is(store: ArmedStore) -> None:
    await _stored(store, {"v": 2, "facts": []})
    memories = memories_of(store)

    with pytest.raises(NewerVersionError):
        await memories.facts(AGENT, OWNER)
    with pytest.raises(NewerVersionError):
        await memories.remember(AGENT, OWNER, fact("first"))

    assert (await _read(store))["v"] == 2


@pytest.mark.behaviour("memory.versions")
async def test_what_another_version_added_stays(store: ArmedStore) -> None:
    await _stored(store, {"v": 1, "facts": [{"id": "f1", "text": "first", "at": 1.0, "mood": "glad"}], "locale": "de"})

    await memories_of(store).remember(AGENT, OWNER, fact("second"))

    stored = await _read(store)
    assert (stored["locale"], stored["facts"][0]["mood"], len(stored["facts"])) == ("de", "glad", 2)


@pytest.mark.behaviour("memory.cost")
async def test_a_run_costs_one_read_of_its_memory_and_a_change_one_append(store: ArmedStore) -> None:
    memories = memories_of(store)
    for number in range(20):
        await memories.remember(AGENT, OWNER, fact(f"number {number}"))
    store.calls.clear()

    await memories.facts(AGENT, OWNER)
    read = dict(store.calls)
    await memories.remember(AGENT, OWNER, fact("one more"))

    assert read == {"head": 1}
    assert dict(store.calls) == {"head": 2, "append": 1}


async def _stored(store: ArmedStore, memory: dict[str, object]) -> None:
    await store.append(ADDRESS, None, Append(StoredHead(0, new_id(), json.dumps(memory).encode())))


async def _read(store: ArmedStore) -> dict[str, object]:
    head = await store.head(ADDRESS)
    assert head is not None
    return dict(json.loads(head.payload))
