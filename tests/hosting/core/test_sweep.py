"""The sweep over idle threads: in pages, a few at once, broken off and gone on with, at a thousand threads."""

from __future__ import annotations

import asyncio
import json
import time

import pytest

from hosting.core.retention import DAY_SECONDS, Retention, is_expired
from hosting.core.rotation import Rotation
from hosting.core.stores.memory import MemoryObjects
from hosting.core.sweeps import Signalled, Sweep
from hosting.names import Address
from hosting.ports import Clocks, EntityPage, iso
from state.codec import read
from state.extension import host_of
from tests.support.process import AGENT, Engine, Process, call

TTL = 3600.0


class Threads(Engine):
    """The engine, as far as a sweep knows it: when each thread was touched, and its entity, to which it delivers."""

    def __init__(self, process: Process) -> None:
        super().__init__()
        self._process = process
        self.now = float(int(time.time()))  # which a document's time can say exactly
        self.touched: dict[str, float] = {}
        self.under_way = 0
        self.most_at_once = 0
        self.page_sizes: list[int] = []
        self.page_seconds = 0.0
        self.passed_seconds = 0.0

    def add(self, key: str, idle_seconds: float) -> None:
        self.touched[key] = self.now - idle_seconds
        until = iso(self.touched[key] + TTL).replace("+00:00", "Z")
        document = {"schemaVersion": "1.1.0", "data": {"conversationHistory": [], "expirationTimeUtc": until}}
        self.documents[key] = json.dumps(document)

    async def list(
        self,
        entity: str,
        limit: int,
        cursor: str | None,
        changed_until: float | None = None,
        changed_from: float | None = None,
    ) -> EntityPage:
        rest = sorted(key for key in self.touched if key > (cursor or ""))
        page = [key for key in rest[:limit] if changed_until is None or self.touched[key] <= changed_until]
        self.page_sizes.append(len(page))
        self.passed_seconds += self.page_seconds
        return EntityPage(
            tuple((key, iso(self.touched[key])) for key in page), rest[limit - 1] if len(rest) > limit else None
        )

    async def signal(self, entity: str, key: str, operation: str, value: object) -> None:
        self.under_way += 1
        self.most_at_once = max(self.most_at_once, self.under_way)
        await asyncio.sleep(0)
        address, document = Address.of(AGENT, key), self.documents.get(key)
        self.touched[key] = self.now
        if operation == "trim" and document is not None and (mark := host_of(read(document)).log_mark) is not None:
            await Retention(self._process.log_at(lambda: self.now), 30).trim(address, mark)
        elif document is not None and is_expired(read(document), self.now):
            await self._process.deletion.expire(address, document)
            del self.documents[key], self.touched[key]
            if (end := await self._process.deletion.end(address)) is not None:
                self.ends[key] = end
        self.under_way -= 1


@pytest.fixture
def threads(process: Process) -> Threads:
    return Threads(process)


def sweep_of(
    process: Process,
    threads: Threads,
    operation: Signalled = "expire",
    age_seconds: float = TTL,
) -> Sweep:
    ages = {AGENT: age_seconds}
    return Sweep(
        operation,
        lambda: ages,
        process.purging,
        Rotation(MemoryObjects(), "hub", operation),
        clocks=Clocks(lambda: threads.now, lambda: threads.passed_seconds),
        receipt_seconds=(0.0,),
    )


@pytest.mark.behaviour("erasure.sweep")
async def test_a_thread_that_is_asked_early_is_asked_again_a_time_to_live_later(
    process: Process, threads: Threads
) -> None:
    """One that was touched since its last answer, or whose clock was another's."""
    threads.add("t", idle_seconds=0)
    threads.touched["t"] -= TTL
    sweep = sweep_of(process, threads)
    await sweep.run(threads)
    assert "t" in threads.documents

    threads.now += TTL
    await sweep.run(threads)

    assert threads.documents == {}


@pytest.mark.behaviour("erasure.sweep")
async def test_a_thread_that_nobody_uses_loses_its_old_events_to_the_sweep(process: Process, threads: Threads) -> None:
    """Its conversation stays; one that is in use is not asked."""
    run = await process.start(call())
    await process.runs.wait(run, process.engine, 5.0)
    await process.deliver(run.run_id)
    threads.documents = process.engine.documents
    threads.touched["t1"] = threads.now
    sweep = sweep_of(process, threads, "trim", 30 * DAY_SECONDS)

    before = await sweep.run(threads)
    threads.now += 31 * DAY_SECONDS
    behind = await sweep.run(threads)

    assert (before.signalled, behind.signalled) == (0, 1)
    assert await process.kinds() == ["trimmed"]
    assert "t1" in threads.documents
