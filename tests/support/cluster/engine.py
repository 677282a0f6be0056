"""The durable engine of processes: entities, signals that a test delivers, and orchestrations that only sleep."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any, Literal
from urllib.parse import unquote

import azure.durable_functions as df
from msgspec import Struct

from hosting.errors import EngineUnavailableError
from hosting.ports import Clock, EntityEnd, EntityPage, OrchestrationStatus, Purge, read_utc, utc
from tests.support.direct import EntityState, InstanceState, PurgedInstances


class Signal(Struct, frozen=True):
    """An operation that an entity has not done yet."""

    entity: str
    key: str
    operation: str
    value: Any

    @property
    def instance_id(self) -> str:
        """The entity's."""
        return instance_of(self.entity, self.key)


def instance_of(entity: str, key: str) -> str:
    """Return the id of an entity's instance."""
    return f"@{entity.lower()}@{key}"


class Engine:
    """An `EntityClient` and `OrchestrationClient`.

    By the ids of instances: `documents` are what entities have stored, `ends` what those left that have ended,
    `changed` when each last did something, `clocks` what sleeps, with its name and input.

    It may be away (`is_away`), lose the answers to signals (`loses_answers`), or keep them all waiting (`gate`).
    `next_documents` are what the next reads see in place of what is stored; `before_purge` is awaited once, and
    `begun` is told of each clock that was started.
    """

    def __init__(self, wall: Clock) -> None:
        self._wall = wall
        self.signals: list[Signal] = []
        self.documents: dict[str, str] = {}
        self.ends: dict[str, str] = {}
        self.changed: dict[str, str] = {}
        self.clocks: dict[str, tuple[str, Any]] = {}
        self.is_away = self.loses_answers = self.has_no_documents_now = False
        self.gate = asyncio.Event()
        self.gate.set()
        self.reads = 0
        self.asked: list[float | None] = []
        self.purged: list[str] = []
        self.outcomes: dict[str, Purge] = {}
        self.next_documents: list[str] = []
        self.before_purge: Callable[[], Awaitable[object]] | None = None
        self.begun: Callable[[str], object] | None = None

    @property
    def sent(self) -> list[tuple[str, Any]]:
        """The operations that wait, with their inputs."""
        return [(signal.operation, signal.value) for signal in self.signals]

    def commit(self, instance_id: str, state: str, *, is_end: bool) -> None:
        """Store what an entity has after its operation."""
        self.documents.pop(instance_id, None)
        self.ends.pop(instance_id, None)
        (self.ends if is_end else self.documents)[instance_id] = state
        self.changed[instance_id] = utc(self._wall())

    async def signal(self, entity: str, key: str, operation: str, value: object) -> None:
        """Take a signal, once the gate is open."""
        await asyncio.sleep(0)
        await self.gate.wait()
        self._reach()
        self.signals.append(Signal(entity, key, operation, value))
        if self.loses_answers:
            raise EngineUnavailableError("The answer is lost.")

    async def read(self, entity: str, key: str) -> str | None:
        """Return a document."""
        self.reads += 1
        self._reach()
        if self.has_no_documents_now:
            raise EngineUnavailableError("The durable engine cannot be reached.")
        return self.next_documents.pop(0) if self.next_documents else self.documents.get(instance_of(entity, key))

    async def ended(self, entity: str, key: str) -> EntityEnd | Literal["missing"] | None:
        """Return what an entity left that has ended."""
        self._reach()
        instance_id = instance_of(entity, key)
        if instance_id in self.documents:
            return None
        end = self.ends.get(instance_id)
        return "missing" if end is None else EntityEnd.of(json.loads(end))

    async def list(
        self,
        entity: str,
        limit: int,
        cursor: str | None,
        changed_until: float | None = None,
        changed_from: float | None = None,
    ) -> EntityPage:
        """Return those of the page that changed in that time; the limit counts before that."""
        self._reach()
        if cursor is None:
            self.asked.append(changed_from)
        prefix = instance_of(entity, "")
        keys = [id_.removeprefix(prefix) for id_ in sorted(self.changed) if id_.startswith(prefix)]
        rest = [key for key in keys if key > (cursor or "") and prefix + key not in self.ends]
        times = [(key, self.changed[prefix + key]) for key in rest[:limit]]
        latest = float("inf") if changed_until is None else changed_until
        page = [(key, time) for key, time in times if (changed_from or 0) <= (read_utc(time) or 0) <= latest]
        return EntityPage(tuple(page), rest[limit - 1] if len(rest) > limit else None)

    async def purge(self, instance_id: str) -> Purge:
        """Remove an instance, with the outcome that a test chose if it did."""
        await asyncio.sleep(0)
        self._reach()
        before, self.before_purge = self.before_purge, None
        if before is not None:
            await before()
        if instance_id in self.clocks:
            return "running"
        self.purged.append(instance_id)
        for instances in (self.documents, self.ends, self.changed):
            instances.pop(instance_id, None)
        return self.outcomes.get(instance_id, "deleted")

    async def start(self, name: str, instance_id: str, given: object) -> None:
        """Have a clock sleep; one that sleeps is not started twice."""
        self._reach()
        if instance_id in self.clocks:
            raise EngineUnavailableError("There is such an instance.")
        self.clocks[instance_id] = (name, given)
        if self.begun is not None:
            self.begun(instance_id)

    async def status(self, instance_id: str) -> OrchestrationStatus | None:
        """Say whether a clock sleeps."""
        self._reach()
        return OrchestrationStatus(instance_id, "Running", None, None) if instance_id in self.clocks else None

    async def send_event(self, instance_id: str, event: str, value: object) -> None:
        """Send nothing: no clock listens."""
        self._reach()

    async def terminate(self, instance_id: str) -> None:
        """End a clock."""
        self._reach()
        if self.clocks.pop(instance_id, None) is None:
            raise EngineUnavailableError("There is no such instance.")

    def _reach(self) -> None:
        if self.is_away:
            raise EngineUnavailableError("The durable engine cannot be reached.")


class SdkClient:
    """The same as the SDK's durable client, which an app's functions are given: its addresses are parts of a URL."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def signal_entity(self, entity_id: df.EntityId, operation: str, value: object) -> None:
        """Send a signal."""
        await self._engine.signal(unquote(entity_id.name), unquote(entity_id.key), operation, value)

    async def read_entity_state(self, entity_id: df.EntityId) -> EntityState:
        """Return the state as a value, also what an entity that has none left."""
        name, key = unquote(entity_id.name), unquote(entity_id.key)
        text = await self._engine.read(name, key) or self._engine.ends.get(instance_of(name, key))
        return EntityState(False) if text is None else EntityState(True, json.loads(text))

    async def start_new(self, name: str, instance_id: str, given: Any) -> str:
        """Start an orchestration."""
        await self._engine.start(name, instance_id, given)
        return instance_id

    async def get_status(self, instance_id: str) -> InstanceState:
        """Return the state of an orchestration."""
        found = await self._engine.status(instance_id)
        return InstanceState(None if found is None else df.OrchestrationRuntimeStatus.Running)

    async def raise_event(self, instance_id: str, event: str, value: object) -> None:
        """Send an event."""
        await self._engine.send_event(instance_id, event, value)

    async def terminate(self, instance_id: str, reason: str) -> None:
        """End an orchestration."""
        await self._engine.terminate(instance_id)

    async def purge_instance_history(self, instance_id: str) -> PurgedInstances:
        """Remove an instance."""
        return PurgedInstances(int(await self._engine.purge(unquote(instance_id)) == "deleted"))
