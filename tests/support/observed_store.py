"""A store that tells when something was committed, and can stop answering at the n-th commit like a killed process."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime

from devhost.durable.records import Entity, EntityId, Inbox, Message, Orchestration, Step, Target
from devhost.durable.store.contract import Arrivals, InstanceFilter, Store, StoredOrchestration

GUARD_SECONDS = 5.0


class ObservedStore:
    """Passes everything on to `inner`.

    With `dies_at` = n the n-th step is kept, but nobody hears of it, and nothing is kept after it.
    """

    def __init__(self, inner: Store, dies_at: int | None = None) -> None:
        self.commits = 0
        self.died = asyncio.Event()
        self._inner = inner
        self._dies_at = dies_at
        self._changed = asyncio.Event()

    def open(self) -> None:
        self._inner.open()

    def commit(self, step: Step) -> asyncio.Future[None]:
        if self.died.is_set():
            return asyncio.get_running_loop().create_future()
        self.commits += 1
        done = self._inner.commit(step)
        if self.commits == self._dies_at:
            self.died.set()
            return asyncio.get_running_loop().create_future()
        done.add_done_callback(lambda _: self._changed.set())
        return done

    async def until(self, is_true: Callable[[], Awaitable[bool]], guard_seconds: float = GUARD_SECONDS) -> None:
        """Return once it is true, asked again after each commit; fail after the guard's time."""

        async def watch() -> None:
            self._changed.clear()
            while not await is_true():
                await self._changed.wait()
                self._changed.clear()

        await asyncio.wait_for(watch(), guard_seconds)

    async def until_ended(self, instance_id: str, guard_seconds: float = GUARD_SECONDS) -> Orchestration:
        await self.until(lambda: self._has_ended(instance_id), guard_seconds)
        stored = await self._inner.orchestration(instance_id)
        assert stored is not None
        return stored.instance

    async def _has_ended(self, instance_id: str) -> bool:
        stored = await self._inner.orchestration(instance_id)
        return stored is not None and stored.instance.status.is_terminal

    async def version_of_others(self) -> int:
        return await self._inner.version_of_others()

    async def arrivals(self, after_seq: int) -> Arrivals:
        return await self._inner.arrivals(after_seq)

    async def inbox(self, target: Target, now: datetime, limit: int) -> Inbox:
        return await self._inner.inbox(target, now, limit)

    async def messages(self, target: Target | None, limit: int) -> Sequence[Message]:
        return await self._inner.messages(target, limit)

    async def instance(self, instance_id: str) -> Orchestration | None:
        return await self._inner.instance(instance_id)

    async def orchestration(self, instance_id: str) -> StoredOrchestration | None:
        return await self._inner.orchestration(instance_id)

    async def entity(self, entity_id: EntityId) -> Entity | None:
        return await self._inner.entity(entity_id)

    async def list_orchestrations(
        self, wanted: InstanceFilter, first_id: str, limit: int | None
    ) -> Sequence[Orchestration]:
        return await self._inner.list_orchestrations(wanted, first_id, limit)

    async def list_entities(self, prefix: str, first_id: str, limit: int | None) -> Sequence[Entity]:
        return await self._inner.list_entities(prefix, first_id, limit)

    async def close(self) -> None:
        await self._inner.close()
