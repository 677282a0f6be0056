"""Runs whose process stops for ever at one of its appends, and the attempts that end them in the next one."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from agent_framework import Agent

from hosting.events import Accepted, Event
from hosting.requests import RunRequest
from tests.support.bench import NOW, ArmedStore, Bench
from tests.support.planned import planned_agent

GUARD_SECONDS = 5.0
GO = RunRequest(message="go")
# Appends: the claim; a model's answer with the begin of the call that it asks for; the call's end; and so on.
AFTER_A_BEGIN, AFTER_A_TOOL, AFTER_TWO_TOOLS = 2, 3, 5


class HaltingStore(ArmedStore):
    """A store in which a process stops for ever at its n-th append, before or after it."""

    def __init__(self) -> None:
        super().__init__()
        self.halts_at: tuple[int, str] | None = None
        self.halted = asyncio.Event()
        self._appends = 0

    async def append(self, run_id: str, *events: Event, after: int) -> bool:
        self._appends += 1
        if self.halts_at is None or self._appends != self.halts_at[0]:
            return await super().append(run_id, *events, after=after)
        if self.halts_at[1] == "after":
            await super().append(run_id, *events, after=after)
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
        self.store.halts_at = (number, when)
        run_id = await self.bench.open("go", streamed=streamed)
        delivery = asyncio.create_task(self.bench.signal(run_id))
        await asyncio.wait_for(self.store.halted.wait(), GUARD_SECONDS)
        delivery.cancel()
        await asyncio.gather(delivery, return_exceptions=True)
        self.bench.restart()
        return run_id

    async def finished(self, run_id: str) -> None:
        """Deliver the run again and see it ended."""
        self.store.halts_at = None
        await asyncio.wait_for(self.bench.signal(run_id), GUARD_SECONDS)
        self.bench.loop.close()


@dataclass(frozen=True)
class Ended:
    """How a run ended that was killed, and what the outside counted after the kill."""

    terminal: dict[str, Any]
    done_after: Counter[str]


async def killed_and_finished(
    agent: Agent[Any],
    counted: Counter[str],
    *,
    request: RunRequest = GO,
    appends: int = AFTER_TWO_TOOLS,
    environ: dict[str, str] | None = None,
    changed: Callable[[Event], Event] = lambda event: event,
) -> Ended:
    """Kill the run once it has appended so often, and let another attempt end it, on events `changed` meanwhile."""
    bench = Bench(agent, environ)
    bench.store = store = HaltingStore()
    bench.restart()
    store.halts_at = (appends, "after")
    await bench.log.open(
        Accepted(at=NOW, run_id="r-1", agent="Joker", thread_id="t", fingerprint="print", request=request)
    )
    delivery = asyncio.create_task(bench.signal("r-1"))
    await asyncio.wait_for(store.halted.wait(), GUARD_SECONDS)
    delivery.cancel()
    await asyncio.gather(delivery, return_exceptions=True)
    before = Counter(counted)
    store._events["r-1"] = [changed(event) for event in store._events["r-1"]]
    bench.restart()
    store.halts_at = None
    await asyncio.wait_for(bench.signal("r-1"), GUARD_SECONDS)
    await asyncio.to_thread(bench.loop.close)
    return Ended((await bench.terminal("r-1")).model_dump(mode="json"), counted - before)


def counting() -> tuple[Counter[str], Callable[[str], None]]:
    """Return what is counted and how it is told."""
    counted: Counter[str] = Counter()
    return counted, lambda what: counted.update([what.partition(" r-")[0]])
