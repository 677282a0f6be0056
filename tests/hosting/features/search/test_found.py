"""Which threads an answer has, and what it says of those that it does not have: in processes of one app."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from hosting.features.search.index import WordIndex
from hosting.features.search.search import ThreadSearch
from hosting.http.verbs import ChangedThreads, FoundWords, ThreadChange, ThreadQuery
from hosting.names import Address
from hosting.principal import Caller
from tests.support.mortal import AGENT, Life, MortalProcess, World

SEEN = 1000.0


@pytest.fixture
def world() -> Iterator[World]:
    world = World()
    yield world
    world.loop.close()


class HeldEngine:
    """An engine that holds the documents of some threads back."""

    def __init__(self, engine: Any, *held: str) -> None:
        self._engine, self.held, self.let_go = engine, held, asyncio.Event()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    async def read(self, entity: str, key: str) -> Any:
        if key in self.held:
            await self.let_go.wait()
        return await self._engine.read(entity, key)


class Searcher:
    """A search in a process, which knows of these changes of the thread."""

    def __init__(self, process: MortalProcess, **more: Any) -> None:
        parts = process.services
        self.process = process
        self.search = ThreadSearch(
            WordIndex(parts.cells, parts.threads, parts.stores), parts.log, parts.threads, **more
        )

    async def find(self, text: str, **marks: str) -> FoundWords:
        """Return what is found of the threads with these marks of their last changes, the oldest first."""
        threads = {id_: ThreadChange(float(at), mark) for at, (id_, mark) in enumerate(marks.items(), start=1)}
        changed = {AGENT.lower(): ChangedThreads(threads, SEEN)}
        return await self.search.find(text, changed, ThreadQuery(50), Caller(self.process.engine))


def ids(found: FoundWords) -> list[str]:
    return [thread.address.thread_id for thread in found.threads]


@pytest.mark.behaviour("search.exact")
async def test_an_answer_says_how_far_it_goes_and_the_next_goes_further(world: World) -> None:
    await world.process().say("hello first")
    await world.process().say("hello", Address.of(AGENT, "other"))
    searcher = Searcher(world.process(), waited_seconds=0.01)
    searcher.process.engine = engine = HeldEngine(world.engine, "origin", "other")
    early = await searcher.find("hello", origin="1", other="1")
    engine.let_go.set()
    late = await until_complete(searcher, origin="1", other="1")
    engine.held, engine.let_go = ("other",), asyncio.Event()
    changed = await searcher.find("hello first", origin="1", other="2")
    await searcher.search.close()

    assert (ids(early), early.behind, early.indexed_through) == ([], 2, 1.0)
    assert (ids(late), late.behind, late.indexed_through) == (["other", "origin"], 0, SEEN)
    assert (ids(changed), changed.behind, changed.indexed_through) == (["origin"], 1, 2.0)
    assert searcher.search._updates == {}


async def until_complete(searcher: Searcher, **marks: str) -> FoundWords:
    while (found := await searcher.find("hello", **marks)).behind:
        continue
    return found


@pytest.mark.behaviour("search.bounds")
async def test_a_search_reads_what_changed_and_the_heads_of_what_it_shows(world: World) -> None:
    for number in range(20):
        await world.process().say(
            f"hello {number} {'needle' if number == 7 else 'hay'}", Address.of(AGENT, f"t{number}")
        )
    life = Life()
    searcher = Searcher(world.process(life))
    marks = {f"t{number}": "1" for number in range(20)}
    await searcher.find("hello", **marks)
    calls = list[int]()
    for search, changes in (("nowhere", {}), ("needle", {}), ("nowhere", {"t3": "2"})):
        before = life.calls
        await searcher.find(search, **{**marks, **changes})
        calls.append(life.calls - before)

    assert calls[0] == 0
    assert 0 < calls[1] <= 6
    assert 0 < calls[2] <= 8
