"""An engine around a real app, with what the tests need of it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx

from devhost.durable.clock import Clock
from devhost.durable.engine import DurableTask
from devhost.durable.records import EntityId
from devhost.durable.settings import DurableSettings
from devhost.durable.store.contract import Store
from devhost.durable.unkind import KIND, Unkind
from devhost.ports import DurableFunctions
from tests.support.engine_clocks import FastClock
from tests.support.memory_store import MemoryStore
from tests.support.observed_store import ObservedStore


class RunningEngine:
    """The engine, its store, and an HTTP client of its management API."""

    def __init__(self, engine: DurableTask, store: ObservedStore, client: httpx.AsyncClient) -> None:
        self.engine = engine
        self.hub = engine.hub
        self.store = store
        self.client = client

    async def state_is(self, entity_id: EntityId, text: str | None) -> None:
        """Return once the entity's committed state is this text."""

        async def is_there() -> bool:
            entity = await self.store.entity(entity_id)
            return entity is not None and entity.state == text

        await self.store.until(is_there)


@asynccontextmanager
async def running(
    functions: DurableFunctions,
    *,
    clock: Clock | None = None,
    settings: DurableSettings | None = None,
    inner: Store | None = None,
    unkind: Unkind = KIND,
    mount: str = "/runtime/webhooks/durabletask",
) -> AsyncIterator[RunningEngine]:
    """Run an engine over `inner`, a memory store when none is given, for the length of the block."""
    store = ObservedStore(inner or MemoryStore())
    engine = DurableTask(functions, store, settings or DurableSettings(), clock or FastClock(), unkind=unkind)
    transport = httpx.ASGITransport(app=engine.management, root_path=mount)
    await engine.start()
    async with httpx.AsyncClient(transport=transport, base_url=f"http://localhost:7071{mount}") as client:
        yield RunningEngine(engine, store, client)
    await engine.stop(0)
