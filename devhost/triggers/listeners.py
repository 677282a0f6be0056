"""All queue and blob triggers that this host listens for.

Where their storage does not answer, the host says so once and serves the rest; they listen as soon as it answers.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from devhost.bindings import BlobTrigger, QueueTrigger
from devhost.durable.clock import Clock, sleep
from devhost.index import Function
from devhost.invoke import Invoker
from devhost.settings import HostSettings
from devhost.triggers.blob_trigger import POISON, BlobFunction, BlobTriggers, host_id
from devhost.triggers.connections import Account, Connections, ConnectionSettingError
from devhost.triggers.paths import parse_pattern
from devhost.triggers.queue_listener import Delivery, QueueListener
from devhost.triggers.queue_trigger import call_with_message

_LOOK_SECONDS = 1.0


@dataclass(frozen=True)
class _Source:
    """The functions of one account that listen to it."""

    account: Account
    queues: Sequence[tuple[Function, QueueTrigger]]
    blobs: Sequence[BlobFunction]

    @property
    def names(self) -> str:
        names = [function.name for function, _ in self.queues] + [blob.function.name for blob in self.blobs]
        return ", ".join(sorted(names))


class Listeners:
    """Starts and stops the listeners of the functions that it is given."""

    def __init__(
        self,
        functions: Iterable[Function],
        connections: Connections,
        settings: HostSettings,
        invoker: Invoker,
        clock: Clock,
    ) -> None:
        self._functions = tuple(functions)
        self._connections = connections
        self._settings = settings
        self._invoker = invoker
        self._clock = clock
        self._queues: list[QueueListener] = []
        self._tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        """Begin to listen."""
        by_account: dict[int, tuple[Account, list[Function]]] = {}
        refused: dict[str, list[str]] = {}
        for function in self._functions:
            trigger = function.trigger
            assert isinstance(trigger, (QueueTrigger, BlobTrigger))
            try:
                account = self._connections.account(trigger.connection)
            except ConnectionSettingError as error:
                refused.setdefault(str(error), []).append(function.name)
            else:
                by_account.setdefault(id(account), (account, []))[1].append(function)
        for sentence, names in refused.items():
            print(f"Not listening: {', '.join(names)}. {sentence}", flush=True)
        for account, functions in by_account.values():
            queues = [(entry, entry.trigger) for entry in functions if isinstance(entry.trigger, QueueTrigger)]
            blobs = [
                BlobFunction(entry, parse_pattern(entry.trigger.path))
                for entry in functions
                if isinstance(entry.trigger, BlobTrigger)
            ]
            self._tasks.append(asyncio.create_task(self._listen(_Source(account, queues, blobs))))

    async def stop(self, grace_seconds: float) -> None:
        """Take no new messages; give those that are worked on so long to end."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*(listener.stop(grace_seconds) for listener in self._queues))
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _listen(self, source: _Source) -> None:
        """Listen once the storage answers, until cancelled."""
        is_announced = False
        while address := await source.account.unanswered():
            if not is_announced:
                print(
                    f"Not listening: {source.names}. Nothing answers at {address}, which {source.account.setting} "
                    "names. Start Azurite (npx azurite); they listen as soon as it answers.",
                    flush=True,
                )
                is_announced = True
            await sleep(self._clock, _LOOK_SECONDS)
        if is_announced:
            print(f"Listening: {source.names}.", flush=True)
        for function, trigger in source.queues:
            self._start_queue(source.account, function, trigger)
        if source.blobs:
            self._start_blobs(source)

    def _start_queue(self, account: Account, function: Function, trigger: QueueTrigger) -> None:
        async def handle(delivery: Delivery) -> bool:
            return await call_with_message(function, self._invoker, delivery)

        queue, poison = (account.queues.get_queue_client(f"{trigger.queue}{end}") for end in ("", "-poison"))
        listener = QueueListener(queue, poison, self._settings.queues, handle, self._clock)
        self._queues.append(listener)
        self._tasks.append(asyncio.create_task(listener.run()))

    def _start_blobs(self, source: _Source) -> None:
        host = host_id(self._settings.folder, os.environ)
        blobs = BlobTriggers(source.blobs, source.account, host, self._invoker, self._clock)
        queue = source.account.queues.get_queue_client(f"azure-webjobs-blobtrigger-{host}")
        poison = source.account.queues.get_queue_client(POISON)
        listener = QueueListener(queue, poison, self._settings.blobs.queue(), blobs.handle, self._clock)
        self._queues.append(listener)
        self._tasks += [asyncio.create_task(listener.run()), asyncio.create_task(blobs.scan(listener))]
