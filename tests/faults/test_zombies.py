"""A process that was taken for dead: stopped while its run stands around a record, it goes on after another one has
taken the run over, while that one is at work or has ended it.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from hosting.core.stores.contract import Append
from hosting.core.thread.events import Event, Failed, ToolResult, ToolStarted
from tests.faults.planned_app import points
from tests.support.cluster.cluster import LEASE_SECONDS, AppProcess, Cluster
from tests.support.planned import planned_agent

pytestmark = [pytest.mark.moved_time, pytest.mark.behaviour("journal.zombies")]

APPENDS = 1 + 3 + 5 + 1  # a claim, the model's answers with the begin of what they ask for, five results, the end
AT_ITS_END = 0
WAKES = (2, 6, AT_ITS_END)
"""Before which append of the one that took the run over: behind its claim, in the middle, or when the run is over."""
WORKED_SECONDS = LEASE_SECONDS / 4
"""So long the zombie is awake before the other one goes on: what it would do it has done by then."""


class Planned(Cluster):
    """Processes of the planned agent, and what each of them did, in its order."""

    def __init__(self) -> None:
        super().__init__(self._agent)
        self.done: list[list[str]] = []

    def _agent(self) -> Any:
        done: list[str] = []
        self.done.append(done)
        return planned_agent(done.append)


def at_append(process: AppProcess, number: int, side: str, meanwhile: Callable[[], Awaitable[object]]) -> None:
    """Have something be done before or after a process's append of events of that number, which waits for it."""
    append, left = process.store.append, number

    async def counted(address: Any, known: Any, appended: Append) -> Any:
        nonlocal left
        left -= bool(appended.events)  # one without events renews a lease, at any moment
        is_there = not left and bool(appended.events)
        if is_there and side == "before":
            await meanwhile()
        outcome = await append(address, known, appended)
        if is_there and side == "after":
            await meanwhile()
        return outcome

    process.store.append = counted  # type: ignore[method-assign]


class TakenOver:
    """A run whose process stops at a point, and wakes before an append of the one that took it over, or at its end.

    `so_far` is what the zombie had done when it woke, and the others are the run's events: when it stopped, when it
    woke, when it had worked alone, and at last.
    """

    def __init__(self, point: str, wakes: int) -> None:
        self.cluster = Planned()
        self.zombie, self.other = self.cluster.process(), self.cluster.process()
        self._point, self._wakes, self._stopped = point, wakes, asyncio.Event()
        self.so_far: list[str] = []
        self.when_stopped: list[Event] = []
        self.when_awake: list[Event] = []
        self.when_worked: list[Event] = []
        self.at_last: list[Event] = []

    async def live(self) -> None:
        """Have both do the run, until neither does anything more."""
        self.run_id = await self.other.open("go")
        side, _, number = self._point.partition(" ")
        at_append(self.zombie, int(number), side, self._stop)
        stopped = asyncio.ensure_future(self.zombie.deliver(self.run_id, commit=False))
        await self._stopped.wait()
        self.when_stopped = await self._events()
        if self._wakes != AT_ITS_END:
            at_append(self.other, self._wakes, "before", self._wake)
        await self.other.deliver(self.run_id)
        if not self.when_awake:
            await self._wake()
        await stopped
        self.at_last = await self._events()
        await self.cluster.close()

    async def _stop(self) -> None:
        self.zombie.life.freeze()
        self._stopped.set()
        await self.zombie.life.is_awake()

    async def _wake(self) -> None:
        """Have the zombie work alone for a while."""
        self.when_awake, self.so_far = await self._events(), list(self.cluster.done[0])
        self.zombie.life.thaw()
        await asyncio.sleep(WORKED_SECONDS)
        self.when_worked = await self._events()

    async def _events(self) -> list[Event]:
        return await self.other.run_events(self.run_id)


@pytest.mark.parametrize("point", points(APPENDS))
async def test_a_zombie_appends_nothing_and_calls_no_tool_that_another_called(point: str) -> None:
    """Each tool was called at most once by both, and the run ends as the other ends it.

    One that stopped in a call ends with that, whose result the log refuses. One that stopped before a call makes that
    alone, which nothing between the log and a call can hold back: tools are those whose begin it had recorded.
    """
    for wakes in WAKES:
        run = TakenOver(point, wakes)
        await run.live()
        ended = {event.key for event in run.when_stopped if isinstance(event, ToolResult)}
        begun = {event.key for event in run.when_stopped if isinstance(event, ToolStarted)} - ended
        counted = Counter(what for done in run.cluster.done for what in done)
        late = run.cluster.done[0][len(run.so_far) :]

        assert run.when_worked == run.when_awake
        assert {count for what, count in counted.items() if not what.startswith("model")} <= {1}
        assert {what.partition("-")[2] for what in late if not what.startswith("model")} <= begun
        assert len(late) <= (max(1, len(begun)) if point.startswith("after") else 0)
        end = run.at_last[-1]
        if begun:
            assert (isinstance(end, Failed) and end.code) == "run_interrupted"
        else:
            assert (end.kind, len(counted)) == ("completed", 9)
        assert wakes != AT_ITS_END or run.at_last == run.when_worked
