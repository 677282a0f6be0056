"""An engine around a real app, with what the tests need of it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx

from devhost.durable.clock import Clock
from devhost.durable.engine import DurableTask
from devhost.durable.events import Event
from devhost.durable.records import EntityId, Status
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

    async def until_event(self, instance_id: str, kind: type[Event] = Event, count: int = 1) -> Status:
        """Return the instance's status once its history has so many events of a kind."""

        async def is_there() -> bool:
            stored = await self.store.orchestration(instance_id)
            return stored is not None and sum(isinstance(event, kind) for event in stored.history) >= count

        await self.store.until(is_there)
        stored = await self.store.orchestration(instance_id)
        assert stored is not None
        return stored.instance.status

    async def ended(self, instance_id: str) -> tuple[str, Any]:
        """Return the status and the output that the instance ends with."""
        instance = await self.store.until_ended(instance_id)
        return instance.status.value, json.loads(instance.output or "null")


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
