"""Processes of an app whose agents search files, over shared stores in memory, with an engine of the test's own.

A process ends at a call of the stores that the test names. What another process then takes is the same step again, as
an engine delivers it.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping
from typing import Any

from agent_framework import Agent

from hosting.core.agent.agent_loop import AgentLoop
from hosting.core.services import Services
from hosting.core.stores.archive import Archive
from hosting.core.stores.contract import Append, AppendOutcome, StoredHead
from hosting.core.stores.memory import MemoryObjects, MemoryThreadStore
from hosting.core.stores.stores import Stores
from hosting.features.uploads.records import Scope, UploadedFile
from hosting.features.uploads.search.clock import JOB
from hosting.features.uploads.search.part import SearchPart
from hosting.features.uploads.uploads import NewFile, Uploads
from hosting.names import Address, StoreKey, store_space
from hosting.plan import AgentPlan
from hosting.ports import Clocks, OrchestrationStatus
from hosting.settings import read_settings

HUB = "hub"
OWNER = "a" * 16
OWNERS = Scope(owner=OWNER)


class KilledError(BaseException):
    """The process ended there."""


class _Calls:
    """The calls of both stores that change something: `on_call` is awaited before and after each."""

    def __init__(self) -> None:
        self.on_call: Callable[[str], Awaitable[None]] | None = None

    async def made(self, name: str) -> None:
        """Take note of a moment."""
        if self.on_call is not None:
            await self.on_call(name)


class _Objects(MemoryObjects):
    def __init__(self, calls: _Calls, clock: Callable[[], float]) -> None:
        super().__init__(clock)
        self._calls = calls

    async def put(self, store_key: StoreKey, objects: Mapping[str, bytes]) -> None:
        await self._calls.made("before put")
        await super().put(store_key, objects)
        await self._calls.made("after put")

    async def erase(self, store_key: StoreKey, names: Collection[str] | None = None, *, before: float = 1e99) -> None:
        await self._calls.made("before erase")
        await super().erase(store_key, names, before=before)
        await self._calls.made("after erase")


class _Threads(MemoryThreadStore):
    def __init__(self, calls: _Calls) -> None:
        super().__init__(HUB)
        self._calls = calls

    async def append(self, address: Address, base: StoredHead | None, append: Append) -> AppendOutcome:
        await self._calls.made("before append")
        outcome = await super().append(address, base, append)
        await self._calls.made("after append")
        return outcome


class Engine:
    """A durable client that keeps what was started: the test takes the steps."""

    def __init__(self) -> None:
        self.waiting: dict[str, dict[str, Any]] = {}
        self.started: list[str] = []

    async def start(self, name: str, instance_id: str, given: Any) -> None:
        """Keep the first step."""
        assert name == JOB
        self.started.append(instance_id)
        self.waiting[instance_id] = json.loads(json.dumps(given))

    async def status(self, instance_id: str) -> OrchestrationStatus | None:
        """Return the state of a job, None of one that is over: its instance is gone then."""
        return OrchestrationStatus(instance_id, "Running", None, None) if instance_id in self.waiting else None


class SearchedFiles:
    """The stores of one app, its engine, and its processes."""

    def __init__(self) -> None:
        self.now = 1_000_000.0
        self.calls = _Calls()
        self.objects = _Objects(self.calls, lambda: self.now)
        self.threads = _Threads(self.calls)
        self.engine = Engine()

    def process(self, *agents: Agent[Any], index_address: str = "") -> Process:
        """Return a process with these agents, whose index may be a service."""
        return Process(self, *agents, index_address=index_address)

    async def left(self, *spaces: str) -> list[str]:
        """Return the names of all objects in these spaces of the attachments' store."""
        names: list[str] = []
        for holds in spaces:
            space = store_space(HUB, holds)  # type: ignore[arg-type]
            for _, name in await self.objects.put_between(space, 0.0, 1e11):
                names += await self.objects.names(StoreKey(space, name))
        return names


class Process:
    """One process: nothing that it remembers outlives it."""

    def __init__(self, app: SearchedFiles, *agents: Agent[Any], index_address: str = "") -> None:
        stores = Stores(HUB, app.threads, Archive(MemoryObjects()), app.objects)
        clocks = Clocks(wall=lambda: app.now, awake=lambda: app.now)
        services = Services(stores, read_settings({}), AgentLoop(1), patience_seconds=0.1, clocks=clocks)
        self.app = app
        self.uploads = Uploads(services.cells, stores, services.log, most_bytes=10**8, quota_bytes=10**9)
        self.part = SearchPart(self.uploads, services, index_address)
        self.uploads.follow(self.part)
        for agent in agents:
            self.part.add(AgentPlan(str(agent.name), agent))

    async def upload(self, text: str, name: str = "a.txt", scope: Scope = OWNERS) -> UploadedFile:
        """Store a file."""

        async def body() -> AsyncIterator[bytes]:
            yield text.encode()

        return await self.uploads.store(scope, NewFile(name, "text/plain", len(text.encode())), body(), self.client)

    @property
    def client(self) -> Any:
        return self.app.engine

    async def take(self, instance: str) -> float:
        """Take the next step of a job, and return for how long it waits then. A step that dies is not taken."""
        text = await self.part.step(json.dumps(self.app.engine.waiting[instance]))
        if not text:
            del self.app.engine.waiting[instance]
            return 0.0
        step = json.loads(text)
        seconds = float(step.pop("wait_seconds", 0.0))
        self.app.engine.waiting[instance] = step
        return seconds

    async def work(self) -> None:
        """Take steps until no job is left."""
        while self.app.engine.waiting:
            for instance in [*self.app.engine.waiting]:
                self.app.now += await self.take(instance)
