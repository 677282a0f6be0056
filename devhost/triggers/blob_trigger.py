"""Blob triggers: containers are scanned, and each blob that is new by its ETag goes through a queue of the host's own.

A blob that was seen has a receipt, by host, function, ETag and name. It is made first, by whoever scans, and says that
the blob is being put into the queue; it is emptied once that is done. A host that died in between leaves a receipt that
another takes over after a minute: a blob may come twice by that, and is not lost. From the queue on a blob is a message
like others, with tries and a poison queue; so a blob of a killed host comes again when its message does.
"""

from __future__ import annotations

import asyncio
import base64
import json
import logging
import platform
import re
import uuid
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from azure.core import MatchConditions
from azure.core.exceptions import AzureError, ResourceExistsError, ResourceModifiedError, ResourceNotFoundError
from azure.functions.meta import Datum

from devhost.converters import decode_datum
from devhost.durable.clock import Clock
from devhost.index import Function
from devhost.invoke import Invoker
from devhost.ports import FunctionFailedError
from devhost.triggers.blob_properties import properties_json
from devhost.triggers.connections import Account, reason
from devhost.triggers.paths import BlobPattern, TriggerData
from devhost.triggers.queue_listener import Delivery, QueueListener, put

if TYPE_CHECKING:
    from azure.storage.blob import BlobProperties

logger = logging.getLogger(__name__)
SCAN_SECONDS = 2.0
POISON = "webjobs-blobtrigger-poison"
_HOSTS = "azure-webjobs-hosts"
_ABANDONED = timedelta(minutes=1)
_OPEN = {"state": "open"}


def host_id(folder: Path, environ: Mapping[str, str]) -> str:
    """Return the id under which hosts of one folder keep their receipts: the setting's, or by machine and folder."""
    chosen = environ.get("AzureFunctionsWebHost__hostid")
    if chosen:
        return chosen.lower()
    machine = re.sub("[^a-z0-9]", "", platform.node().lower())[:15] or "local"
    return f"{machine}-{sha256(str(folder.resolve()).encode()).hexdigest()[:12]}"


@dataclass(frozen=True)
class BlobFunction:
    """A function of a blob trigger, with its path."""

    function: Function
    pattern: BlobPattern

    @property
    def id(self) -> str:
        """The function's name in receipts and messages."""
        return f"Host.Functions.{self.function.name}"


class BlobTriggers:
    """The blob triggers of one account."""

    def __init__(
        self, functions: Sequence[BlobFunction], account: Account, host: str, invoker: Invoker, clock: Clock
    ) -> None:
        self._functions = {function.id: function for function in functions}
        self._account = account
        self._host = host
        self._invoker = invoker
        self._clock = clock
        self._queue = account.queues.get_queue_client(f"azure-webjobs-blobtrigger-{host}")
        self._receipts = account.blobs.get_container_client(_HOSTS)
        self._seen: dict[tuple[str, str], str] = {}
        self._is_away = False

    async def scan(self, listener: QueueListener) -> None:
        """Look for new blobs every two seconds, until cancelled."""
        known: dict[str, frozenset[str]] = {}
        while True:
            try:
                for function in self._functions.values():
                    if function.id not in known:
                        known[function.id] = await self._closed_receipts(function)
                    if await self._scan(function, known[function.id]):
                        listener.wake()
                self._is_away = False
            except AzureError as error:
                if not self._is_away:
                    logger.warning("Blobs cannot be looked for: %s", reason(error))
                self._is_away = True
            over = asyncio.Event()
            alarm = self._clock.call_later(SCAN_SECONDS, over.set)
            try:
                await over.wait()
            finally:
                alarm.cancel()

    async def handle(self, delivery: Delivery) -> bool:
        """Call the function for a blob of the host's queue, if that is as it was seen; return whether it succeeded."""
        message = json.loads(delivery.body)
        function = self._functions.get(message["FunctionId"])
        if function is None:
            logger.warning("The app has no %s any more; a blob for it is left out.", message["FunctionId"])
            return True
        client = self._account.blobs.get_blob_client(message["ContainerName"], message["BlobName"])
        try:
            download = await client.download_blob(etag=message["ETag"], match_condition=MatchConditions.IfNotModified)
            content = await download.readall()
        except (ResourceModifiedError, ResourceNotFoundError):
            return True
        except AzureError as error:
            logger.error("The blob %s cannot be read: %s", message["BlobName"], reason(error))
            return False
        return await self._call(function, client.url, download.properties, content)

    async def _call(self, blob_function: BlobFunction, url: str, properties: BlobProperties, content: bytes) -> bool:
        function = blob_function.function
        members: TriggerData = {
            "BlobTrigger": Datum(f"{properties.container}/{properties.name}", "string"),
            "Uri": Datum(json.dumps(url), "json"),
            "Properties": Datum(properties_json(properties), "json"),
            "Metadata": Datum(json.dumps(properties.metadata or {}), "json"),
            **{
                name: Datum(value, "string")
                for name, value in (blob_function.pattern.match(properties.name) or {}).items()
            },
        }
        try:
            value = decode_datum(function.input_converter, Datum(content, "bytes"), members)
        except FunctionFailedError as error:
            logger.error("Function '%s' cannot be given %s: %s", function.name, properties.name, error.message)
            return False
        with suppress(FunctionFailedError):
            await self._invoker.call(function, value, str(uuid.uuid4()), members)
            return True
        return False

    async def _scan(self, function: BlobFunction, closed: frozenset[str]) -> bool:
        """Put the blobs that are new into the queue; return whether there were any."""
        has_new = False
        container = self._account.blobs.get_container_client(function.pattern.container)
        with suppress(ResourceNotFoundError):
            async for blob in container.list_blobs(name_starts_with=function.pattern.prefix):
                key, etag = (function.id, blob.name), _quoted(blob.etag)
                if self._seen.get(key) == etag or function.pattern.match(blob.name) is None:
                    continue
                receipt = self._receipt(function, etag, blob.name)
                if receipt in closed or await self._take(receipt, function, blob, etag):
                    has_new |= receipt not in closed
                    self._seen[key] = etag
        return has_new

    async def _take(self, receipt: str, function: BlobFunction, blob: BlobProperties, etag: str) -> bool:
        """Put a blob into the queue unless another host does; return whether it is there."""
        client = self._receipts.get_blob_client(receipt)
        try:
            await self._open(receipt)
        except ResourceExistsError:
            try:
                existing = await client.get_blob_properties()
            except ResourceNotFoundError:
                return False
            if not existing.metadata:
                return True
            if self._clock.now() - existing.last_modified < _ABANDONED:
                return False
            try:
                await client.set_blob_metadata(_OPEN, etag=existing.etag, match_condition=MatchConditions.IfNotModified)
            except ResourceModifiedError:
                return False
        message = {
            "Type": "BlobTrigger",
            "FunctionId": function.id,
            "BlobType": getattr(blob.blob_type, "value", str(blob.blob_type)),
            "ContainerName": function.pattern.container,
            "BlobName": blob.name,
            "ETag": etag,
        }
        text = json.dumps(message, indent=2, ensure_ascii=False)
        await put(self._queue, base64.b64encode(text.encode()).decode())
        await client.set_blob_metadata({})
        return True

    async def _open(self, receipt: str) -> None:
        """Make a receipt; raise `ResourceExistsError` when there is one."""
        client = self._receipts.get_blob_client(receipt)
        try:
            await client.upload_blob(b"", metadata=_OPEN)
        except ResourceNotFoundError:
            with suppress(ResourceExistsError):
                await self._receipts.create_container()
            await client.upload_blob(b"", metadata=_OPEN)

    async def _closed_receipts(self, function: BlobFunction) -> frozenset[str]:
        """Return the receipts of blobs that need not be looked at again, by one listing for many requests."""
        folder = f"blobreceipts/{self._host}/{function.id}/"
        with suppress(ResourceNotFoundError):
            return frozenset(
                [
                    blob.name
                    async for blob in self._receipts.list_blobs(name_starts_with=folder, include=["metadata"])
                    if not blob.metadata
                ]
            )
        return frozenset()

    def _receipt(self, function: BlobFunction, etag: str, name: str) -> str:
        return f"blobreceipts/{self._host}/{function.id}/{etag}/{function.pattern.container}/{name}"


def _quoted(etag: str) -> str:
    """Return an ETag as headers have it: listings leave the quotes out."""
    return etag if etag.startswith('"') else f'"{etag}"'
