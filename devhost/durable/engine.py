"""The durable engine, assembled: the one door by which the local host uses it."""

from __future__ import annotations

from pathlib import Path

from devhost.durable import binding
from devhost.durable.activities import Activities
from devhost.durable.batches import Entities
from devhost.durable.clock import Clock, SystemClock
from devhost.durable.episodes import Orchestrations
from devhost.durable.hub import TaskHub
from devhost.durable.inspection import describe
from devhost.durable.ledger import Ledger
from devhost.durable.management.app import ManagementApp
from devhost.durable.management.entities import Entities as EntityRoutes
from devhost.durable.management.http import ASGIApp
from devhost.durable.management.instances import Instances as InstanceRoutes
from devhost.durable.missing import function_names
from devhost.durable.records import TargetKind
from devhost.durable.settings import DurableSettings
from devhost.durable.store.contract import Store
from devhost.durable.store.lock import FolderLock
from devhost.durable.store.memory import MemoryStore
from devhost.durable.store.sqlite import SqliteStore
from devhost.durable.worker import Worker
from devhost.ports import DurableFunctions

_FILES = ("durable.db", "durable.db-wal", "durable.db-shm")


class DurableTask:
    """Runs the durable functions of one app."""

    management: ASGIApp

    def __init__(
        self,
        functions: DurableFunctions,
        folder: Path | None,
        settings: DurableSettings,
        clock: Clock | None = None,
        store: Store | None = None,
    ) -> None:
        """Assemble the engine; nothing runs yet.

        `folder` is where the engine keeps its file, made if it is not there; without one, or with a `store`, it keeps
        none.
        """
        clock = clock or SystemClock()
        names = function_names(functions)
        self._settings = settings
        self._clock = clock
        self._ledger = Ledger(store or (SqliteStore(folder) if folder else MemoryStore()))
        self._worker = Worker(
            self._ledger,
            {
                TargetKind.ORCHESTRATION: Orchestrations(
                    functions, names, self._ledger, clock, settings.default_version
                ),
                TargetKind.ACTIVITY: Activities(functions, names, clock),
                TargetKind.ENTITY: Entities(
                    functions, names, self._ledger, clock, settings.max_entity_operation_batch_size
                ),
            },
            {
                TargetKind.ORCHESTRATION: settings.max_concurrent_orchestrators,
                TargetKind.ACTIVITY: settings.max_concurrent_activities,
                TargetKind.ENTITY: settings.max_concurrent_entities,
            },
            clock,
        )
        self.hub = TaskHub(self._ledger, clock, settings.default_version)
        self.management = ManagementApp(
            InstanceRoutes(self.hub, settings.hub_name, clock, settings.webhook_key),
            EntityRoutes(self.hub, names),
            settings.hub_name,
        )

    async def start(self) -> None:
        """Open the store and go on with all that was under way.

        Raises an error of `devhost.durable.errors`; then nothing was changed.
        """
        self._ledger.open(self._worker.deliver)

    async def stop(self, grace_seconds: float) -> None:
        """Begin nothing new, give running work so long to end, leave the rest to the next start, close the store."""
        await self._worker.stop(grace_seconds)
        await self._ledger.close()

    async def describe(self, instance_id: str | None = None) -> list[str]:
        """Return readable lines about one instance or entity, or about everything (see `inspection.describe`)."""
        return await describe(self._ledger, instance_id, self._clock.now())

    def client_binding(self, base_url: str, rpc_base_url: str) -> str:
        """Return the text for a durable client input binding; `base_url` like `http://localhost:7071`."""
        return binding.client_binding(base_url, rpc_base_url, self._settings.hub_name, self._settings.webhook_key)


def reset(folder: Path) -> None:
    """Remove all that the engine keeps in the folder; raises `StoreInUseError` while a host has it."""
    lock = FolderLock(folder)
    lock.take()
    try:
        for name in _FILES:
            (folder / name).unlink(missing_ok=True)
    finally:
        lock.release()
