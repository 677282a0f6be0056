"""The clerk's entity with its callers, on a clock that a test moves: nothing happens that the test did not do."""

from __future__ import annotations

from typing import Any

from hosting.app_stores import Stores
from hosting.approval.answering_approvals import Approvals, Recorded
from hosting.entity.threads import Threads
from hosting.ports import EntityPage, Purge
from hosting.requests import Decision
from hosting.run.runs import Runs
from hosting.run_record import RunRecord
from tests.support.bench import Bench
from tests.support.clerk import clerk


class HeldSignals:
    """An `EntityClient` whose signals wait until they are delivered, or are lost."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self.held: list[tuple[str, Any]] = []

    async def signal(self, entity: str, key: str, operation: str, value: object) -> None:
        """Hold the signal."""
        self.held.append((operation, value))

    async def read(self, entity: str, key: str) -> str | None:
        """Return the state that the entity committed."""
        return self._bench.state

    async def list(self, entity: str, limit: int, cursor: str | None, changed_until: float | None = None) -> EntityPage:
        """Return nothing."""
        return EntityPage((), None)

    async def purge(self, instance_id: str) -> Purge:
        """Find nothing."""
        return "missing"

    async def deliver(self) -> None:
        """Deliver what is held, in order."""
        while self.held:
            operation, value = self.held.pop(0)
            await self._bench.deliver(value, name=operation)


class Counter:
    """One thread of the clerk's, and who talks to it."""

    def __init__(self, **environ: str) -> None:
        self.notes: list[str] = []
        self.bench = Bench(clerk(self.notes.append), environ)
        self.client = HeldSignals(self.bench)
        self.restart()

    def restart(self) -> None:
        """Begin a new process; signals on their way are lost."""
        self.client.held.clear()
        self.bench.restart()
        self.runs = Runs(self.bench.log, self.bench.settings, self.bench.clock)
        stores = Stores(self.bench.log, self.bench.archive, self.bench.attachments)
        threads = Threads(stores, self.runs)
        self.approvals = Approvals(self.bench.log, self.runs, threads, self.bench.clock)

    async def ask(self, message: str) -> RunRecord:
        """Take one whole turn and return its run."""
        return await self.bench.record(await self.bench.run(message))

    async def waiting(self) -> list[str]:
        """Return the ids of what the thread waits for."""
        asked = await self.approvals.paused("Joker", "t", self.client)
        terminal: Any = None if asked is None else asked.terminal
        return [] if terminal is None else [approval.id for approval in terminal.approvals]

    async def answer(self, approval_id: str, *, approved: bool = True) -> Recorded:
        """Answer one approval; the run that goes on is not delivered yet."""
        decision = Decision(id=approval_id, approved=approved)
        return await self.approvals.answer("Joker", "t", decision, self.client)
