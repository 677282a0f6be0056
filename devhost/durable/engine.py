"""The durable engine, assembled: the one door by which the local host uses it.

Every host of a folder has an engine, a client of the folder's task hub; at most one of them works on its messages.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from datetime import datetime
from enum import Enum
from pathlib import Path

from starlette.types import ASGIApp

from devhost.durable.activities import Activities
from devhost.durable.clock import Clock, SystemClock
from devhost.durable.entities import Entities
from devhost.durable.hidden import FILE as TAKEN_FILE
from devhost.durable.hidden import Hidden
from devhost.durable.hub import TaskHub
from devhost.durable.inspection import describe
from devhost.durable.ledger import Ledger
from devhost.durable.management.addresses import client_binding
from devhost.durable.management.app import ManagementApp
from devhost.durable.management.entities import Entities as EntityRoutes
from devhost.durable.management.instances import Instances as InstanceRoutes
from devhost.durable.orchestrations import Orchestrations
from devhost.durable.queue_poll import QueuePoll
from devhost.durable.records import Target, TargetKind
from devhost.durable.settings import DurableSettings
from devhost.durable.store.contract import Store
from devhost.durable.store.lock import HOSTS_LOCK, WORKER_LOCK, FolderLock
from devhost.durable.store.tables import FILE
from devhost.durable.unkind import KIND, Unkind
from devhost.durable.unkind_processor import UnkindProcessor
from devhost.durable.wire import JSON, Protocol
from devhost.durable.worker import Processor, Worker
from devhost.errors import DurableError, StoreInUseError, StoreRemovedError
from devhost.ports import DurableFunctions, function_names

logger = logging.getLogger(__name__)

_FILES = (FILE, f"{FILE}-wal", f"{FILE}-shm", TAKEN_FILE)
_LOCK_POLL_SECONDS = 0.1
_REMOVAL_POLL_SECONDS = 0.5


class Role(Enum):
    """What a host does with the messages of its folder."""

    ALONE = "works on them, and does not start if another host does"
    WORKER = "works on them, once no other host does"
    CLIENT = "sends them, and works on none"


class DurableTask:
    """Runs the durable functions of one app, or sends work to the host that does."""

    management: ASGIApp

    def __init__(
        self,
        functions: DurableFunctions,
        store: Store,
        settings: DurableSettings,
        clock: Clock | None = None,
        *,
        folder: Path | None = None,
        role: Role = Role.ALONE,
        protocol: Protocol = JSON,
        unkind: Unkind = KIND,
    ) -> None:
        """Assemble the engine; nothing runs yet.

        `folder` is the one that other hosts may use too, made if it is not there: the engine takes its locks. A store
        that is this engine's alone has none.
        """
        clock = clock or SystemClock()
        names = function_names(functions)
        self._settings = settings
        self._clock = clock
        self._role = role
        self._store = store
        self._hosts_lock = FolderLock(folder, HOSTS_LOCK) if folder else None
        self._worker_lock = FolderLock(folder, WORKER_LOCK) if folder else None
        self._beginning: asyncio.Task[None] | None = None
        self._hidden = Hidden(None if unkind.is_kind else folder)
        ledger = Ledger(self._store, clock, self._deliver)
        self._worker = _make_worker(
            functions, ledger, settings, clock, protocol=protocol, unkind=unkind, hidden=self._hidden
        )
        self._works = False
        self._poll = QueuePoll(self._store, self._deliver, settings.queue_poll_seconds)
        self.hub = TaskHub(ledger, clock, settings.default_version, unkind=unkind)
        self.management = ManagementApp(
            InstanceRoutes(self.hub, settings.hub_name, clock, settings.webhook_key),
            EntityRoutes(self.hub, names),
            settings.hub_name,
        )

    async def start(self) -> None:
        """Open the store and go on with all that was under way; a worker that is not the first one waits beside this.

        Raises an error of `devhost.errors`; then nothing was changed.
        """
        if self._hosts_lock is not None:
            self._hosts_lock.take(is_shared=True)
        try:
            if self._role is Role.ALONE:
                self._take_the_work()
            self._store.open()
            if self._role is Role.ALONE:
                await self._begin()
        except BaseException:
            await self._let_go()
            raise
        if self._role is Role.WORKER:
            self._beginning = asyncio.get_running_loop().create_task(self._begin_when_alone())

    async def stop(self, grace_seconds: float) -> None:
        """Begin nothing new, give running work so long to end, leave the rest to the next start, close the store."""
        if self._beginning is not None:
            self._beginning.cancel()
            with suppress(asyncio.CancelledError):
                await self._beginning
        await self._poll.stop()
        await self._worker.stop(grace_seconds)
        await self._let_go()

    async def until_removed(self) -> StoreRemovedError:
        """Return, once the store was removed under this engine, what to say of it; nothing is kept any more."""
        while True:
            await asyncio.sleep(_REMOVAL_POLL_SECONDS)
            try:
                await self._store.version_of_others()
            except StoreRemovedError as error:
                return error
            except DurableError:
                continue  # for now: whoever needs the store says so

    async def describe(self, instance_id: str | None = None) -> list[str]:
        """Return readable lines about one instance or entity, or about everything (see `inspection.describe`)."""
        return await describe(self._store, instance_id, self._clock.now())

    def client_binding(self, base_url: str, rpc_base_url: str) -> str:
        """Return the text for a durable client input binding; `base_url` like `http://localhost:7071`."""
        return client_binding(base_url, rpc_base_url, self._settings.hub_name, self._settings.webhook_key)

    def _deliver(self, target: Target, due: datetime | None) -> None:
        if self._works:
            self._worker.deliver(target, due)

    def _take_the_work(self) -> None:
        if self._worker_lock is not None:
            self._worker_lock.take()

    async def _begin(self) -> None:
        self._works = True
        self._hidden.begin(self._clock.now())
        await self._poll.look()
        self._poll.start()

    async def _begin_when_alone(self) -> None:
        """Become the worker as soon as that succeeds; what hinders is logged once, whatever it is, and tried again."""
        is_alone, logged = False, ""
        while True:
            try:
                if not is_alone:
                    self._take_the_work()
                    is_alone = True
                await self._begin()
                return
            except StoreInUseError:
                hindrance = "Another host works on this folder's durable messages; this one waits for its end."
            except DurableError as error:
                hindrance = f"This host cannot work on the folder's durable messages yet, and tries again: {error}"
            if hindrance != logged:
                logger.warning(hindrance)
                logged = hindrance
            await asyncio.sleep(_LOCK_POLL_SECONDS)

    async def _let_go(self) -> None:
        self._works = False
        await self._store.close()
        for lock in (self._worker_lock, self._hosts_lock):
            if lock is not None:
                lock.release()


def _make_worker(
    functions: DurableFunctions,
    ledger: Ledger,
    settings: DurableSettings,
    clock: Clock,
    *,
    protocol: Protocol,
    unkind: Unkind,
    hidden: Hidden,
) -> Worker:
    names = function_names(functions)
    batch_size = settings.max_entity_operation_batch_size
    processors: dict[TargetKind, Processor] = {
        TargetKind.ORCHESTRATION: Orchestrations(
            functions, names, ledger, clock, settings.default_version, protocol=protocol, unkind=unkind
        ),
        TargetKind.ACTIVITY: Activities(functions, names, clock, protocol=protocol),
        TargetKind.ENTITY: Entities(functions, names, ledger, clock, batch_size, protocol=protocol, unkind=unkind),
    }
    if not unkind.is_kind:
        processors = {
            kind: UnkindProcessor(
                processor,
                ledger,
                clock,
                unkind=unkind,
                hidden=hidden,
                visibility_seconds=settings.visibility_seconds(kind),
            )
            for kind, processor in processors.items()
        }
    return Worker(
        ledger,
        processors,
        {
            TargetKind.ORCHESTRATION: settings.max_concurrent_orchestrators,
            TargetKind.ACTIVITY: settings.max_concurrent_activities,
            TargetKind.ENTITY: settings.max_concurrent_entities,
        },
        clock,
        unkind=unkind,
        hidden=hidden,
    )


def reset(folder: Path) -> None:
    """Remove all that the engine keeps in the folder; raises `StoreInUseError` while a host has it."""
    lock = FolderLock(folder, HOSTS_LOCK)
    lock.take()
    try:
        for name in _FILES:
            (folder / name).unlink(missing_ok=True)
    finally:
        lock.release()
