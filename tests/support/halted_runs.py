"""Runs whose process stops for ever at one of its appends, and the attempts that end them in the next one."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from agent_framework import Agent

from hosting.core.stores.contract import Append, Appended, AppendOutcome, StoredHead
from hosting.core.stores.memory import MemoryThreadStore
from hosting.core.thread.events import Event, ToolResult, ToolStarted, decode, encode
from hosting.core.thread.head import NEW, fold
from hosting.core.thread.head import encode as encode_head
from hosting.core.thread.run_request import RunRequest
from hosting.names import Address
from tests.support.bench import ADDRESS, HUB, Bench
from tests.support.planned import planned_agent
from tests.support.thread_stores import ArmedStore

GUARD_SECONDS = 5.0
GO = RunRequest(message="go")
# Appends: the claim; a model's answer with the begin of the call that it asks for; the call's end; and so on.
AFTER_A_BEGIN, AFTER_A_TOOL, AFTER_TWO_TOOLS = 2, 3, 5


class HaltingStore(ArmedStore):
    """A store in which a process stops for ever at its n-th append, before or after it; that of its run is the 0-th."""

    def __init__(self) -> None:
        super().__init__(MemoryThreadStore(HUB))
        self.halts_at: tuple[int, str] | None = None
        self.halted = asyncio.Event()
        self._appends = -1

    async def append(self, address: Address, known: StoredHead | None, append: Append) -> AppendOutcome:
        self._appends += 1
        if self.halts_at is None or self._appends != self.halts_at[0]:
            return await super().append(address, known, append)
        if self.halts_at[1] == "after":
            await super().append(address, known, append)
        self.halted.set()
        await asyncio.Event().wait()
        raise AssertionError("nothing goes on in a process that was killed")


class World:
    """What the outside counted, and the bench of the run."""

    def __init__(self, environ: dict[str, str] | None = None, **options: Any) -> None:
        self.counted: Counter[str] = Counter()
        self.bench = Bench(planned_agent(self._note, **options), environ)
        self.store = HaltingStore()
        self.bench.store = self.store
        self.bench.restart()

    def _note(self, what: str) -> None:
        self.counted[what] += 1

    async def killed_at(self, number: int, when: str, *, streamed: bool = False) -> str:
        """Run until the n-th append, where the process is killed; return the run's id."""
        run_id = await self.bench.open("go", streamed=streamed)
        await self.killed_again_at(run_id, number, when)
        return run_id

    async def killed_again_at(self, run_id: str, number: int, when: str) -> None:
        """Deliver the run until the n-th append of all processes, where this one is killed."""
        self.store.halts_at, self.store.halted = (number, when), asyncio.Event()
        delivery = asyncio.create_task(self.bench.signal(run_id))
        await asyncio.wait_for(self.store.halted.wait(), GUARD_SECONDS)
        delivery.cancel()
        await asyncio.gather(delivery, return_exceptions=True)
        self.bench.restart()

    async def rewrite(self, changed: Callable[[Event], Event]) -> None:
        """Have the thread's events be these, and begin a new process."""
        self.store = self.bench.store = await rewritten(self.store, changed)
        self.bench.restart()

    async def finished(self, run_id: str) -> None:
        """Deliver the run again and see it ended."""
        self.store.halts_at = None
        await asyncio.wait_for(self.bench.signal(run_id), GUARD_SECONDS)
        self.bench.loop.close()


@dataclass(frozen=True)
class Ended:
    """How a run ended that was killed, what the outside counted after the kill, and the calls that it cut short."""

    terminal: dict[str, Any]
    done_after: Counter[str]
    interrupted: list[str]


async def killed_and_finished(
    agent: Agent[Any],
    counted: Counter[str],
    *,
    request: RunRequest = GO,
    appends: int = AFTER_TWO_TOOLS,
    environ: dict[str, str] | None = None,
    changed: Callable[[Event], Event] = lambda event: event,
    streamed: bool = False,
    begun: list[str] | None = None,
) -> Ended:
    """Kill the run once it has appended so often, and let another attempt end it, on events `changed` meanwhile.

    `begun` gets the tools whose begin was recorded, in their order.
    """
    bench = Bench(agent, environ)
    bench.store = store = HaltingStore()
    bench.restart()
    store.halts_at = (appends, "after")
    await bench.open(run_id="r-1", request=request, streamed=streamed)
    delivery = asyncio.create_task(bench.signal("r-1"))
    await asyncio.wait_for(store.halted.wait(), GUARD_SECONDS)
    delivery.cancel()
    await asyncio.gather(delivery, return_exceptions=True)
    before = Counter(counted)
    bench.store = store = await rewritten(store, changed)
    bench.restart()
    await asyncio.wait_for(bench.signal("r-1"), GUARD_SECONDS)
    await asyncio.to_thread(bench.loop.close)
    stored = [decode(one.payload) for one in await store.events(ADDRESS, 0)]
    if begun is not None:
        begun += [event.name for event in stored if isinstance(event, ToolStarted)]
    interrupted = [event.key for event in stored if isinstance(event, ToolResult) and event.interrupted]
    return Ended((await bench.terminal("r-1")).model_dump(mode="json"), counted - before, interrupted)


async def rewritten(store: HaltingStore, changed: Callable[[Event], Event]) -> HaltingStore:
    """Return a store with the thread as it would be, had its events been these."""
    head, copy, known = NEW, HaltingStore(), None
    for number, stored in enumerate(await store.events(ADDRESS, 0)):
        event = changed(decode(stored.payload))
        head = fold(head, [event]).model_copy(update={"append_id": f"copy-{number}"})
        step = Append(StoredHead(head.position, head.append_id, encode_head(head)), (encode(event),), ())
        appended = await copy.append(ADDRESS, known, step)
        assert isinstance(appended, Appended)
        known = appended.head
    return copy


def counting() -> tuple[Counter[str], Callable[[str], None]]:
    counted: Counter[str] = Counter()
    return counted, lambda what: counted.update([what.partition(" r-")[0]])
