"""Queues and blobs of the emulator as a test sees them, and an app's functions that listen to them in this process."""

from __future__ import annotations

import asyncio
import base64
import queue
import time
import uuid
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import azure.functions as func
from azure.core.exceptions import ResourceNotFoundError
from azure.storage.blob import BlobServiceClient
from azure.storage.queue import QueueServiceClient

from devhost.bindings import BlobTrigger, QueueTrigger
from devhost.durable.clock import Alarm, Clock, SystemClock
from devhost.invoke import Invoker
from devhost.settings import HostSettings
from devhost.triggers.connections import Connections
from devhost.triggers.listeners import Listeners
from devhost.triggers.queue_settings import QueueSettings
from devhost.triggers.storage_values import StorageValues
from tests.devhost.indexing import SETTINGS, index_of
from tests.support.azurite import Azurite

GUARD_SECONDS = 20.0
QUICK = QueueSettings(16, 16, 5, 0, 0.2, True)


class QuickClock(SystemClock):
    """The machine's clock, by which waits between two looks at the storage are a tenth."""

    def call_later(self, seconds: float, callback: Callable[[], None]) -> Alarm:
        return super().call_later(seconds / 10, callback)


class Storage:
    """The emulator's account; names that it gives out belong to one test."""

    def __init__(self, azurite: Azurite) -> None:
        self.setting = azurite.connection_string
        self.queues = QueueServiceClient.from_connection_string(self.setting)
        self.blobs = BlobServiceClient.from_connection_string(self.setting)

    def name(self) -> str:
        """Return a name that no other test has, for a queue or a container."""
        return f"t{uuid.uuid4().hex[:16]}"

    def queue(self) -> str:
        """Make a queue and return its name."""
        name = self.name()
        self.queues.create_queue(name)
        return name

    def container(self) -> str:
        """Make a container and return its name."""
        name = self.name()
        self.blobs.create_container(name)
        return name

    def send(self, name: str, body: str | bytes, *, encoded: bool = True) -> str:
        """Put a message into the queue and return its id."""
        content = body.encode() if isinstance(body, str) else body
        text = base64.b64encode(content).decode() if encoded else content.decode()
        return str(self.queues.get_queue_client(name).send_message(text).id)

    def raw(self, name: str) -> list[str]:
        """Return the first messages of the queue as they stand there; none when there is no queue."""
        try:
            return [str(entry.content or "") for entry in self.queues.get_queue_client(name).peek_messages(32)]
        except ResourceNotFoundError:
            return []

    def bodies(self, name: str) -> list[bytes]:
        """Return the decoded bodies of the first messages of the queue."""
        return [base64.b64decode(text) for text in self.raw(name)]

    def count(self, name: str) -> int:
        """Return how many messages the queue has, hidden ones included."""
        return int(self.queues.get_queue_client(name).get_queue_properties().approximate_message_count or 0)

    def upload(self, container: str, name: str, content: bytes = b"x", **options: Any) -> None:
        """Write a blob."""
        self.blobs.get_blob_client(container, name).upload_blob(content, overwrite=True, **options)

    def blob(self, container: str, name: str) -> bytes | None:
        """Return a blob's content, None when there is none."""
        try:
            return bytes(self.blobs.get_blob_client(container, name).download_blob().readall())
        except ResourceNotFoundError:
            return None


async def until(is_so: Callable[[], bool], seconds: float = GUARD_SECONDS) -> None:
    """Return once something in the storage is so, which nothing announces."""
    end = time.monotonic() + seconds
    while not await asyncio.to_thread(is_so):
        assert time.monotonic() < end, "it did not become so in time"
        await asyncio.sleep(0.02)


class Seen:
    """What functions were called with, whichever thread they ran in."""

    def __init__(self) -> None:
        self._queue: queue.Queue[Any] = queue.Queue()
        self.put = self._queue.put

    async def next(self, seconds: float = GUARD_SECONDS) -> Any:
        """Return the next value; raise `queue.Empty` when none comes in time."""
        return await asyncio.to_thread(self._queue.get, True, seconds)

    async def several(self, count: int) -> list[Any]:
        """Return so many values."""
        return [await self.next() for _ in range(count)]

    @property
    def is_empty(self) -> bool:
        """Whether nothing was put that was not taken."""
        return self._queue.empty()


@asynccontextmanager
async def listening(
    app: func.FunctionApp,
    storage: Storage,
    *,
    settings: HostSettings | None = None,
    queues: QueueSettings = QUICK,
    clock: Clock | None = None,
    **environ: str,
) -> AsyncIterator[Listeners]:
    """Listen to the queues and blobs of an app until the block ends."""
    environ = {"AzureWebJobsStorage": storage.setting, **environ}
    chosen = replace(settings or SETTINGS, queues=queues)
    index = index_of(app, environ, chosen)
    connections, time_of_host = Connections(environ), clock or QuickClock()
    values = StorageValues(connections, time_of_host, is_base64=queues.is_base64)
    invoker = Invoker(32, None, lambda: "client", values)
    triggered: Sequence[Any] = [
        function for function in index.running() if isinstance(function.trigger, (QueueTrigger, BlobTrigger))
    ]
    listeners = Listeners(triggered, connections, chosen, invoker, time_of_host)
    listeners.start()
    try:
        yield listeners
    finally:
        await listeners.stop(5)
        await connections.close()
        invoker.close()
