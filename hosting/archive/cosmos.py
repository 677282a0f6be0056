"""The archive in a container of Azure Cosmos DB for NoSQL: threads in a database of your own.

A segment is one item of the partition of its thread, with its entries as JSON texts: as values, Cosmos DB would round
their numbers. A move is one call, and so is a page.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Sequence
from contextlib import AsyncExitStack
from typing import Any, TypeVar

from azure.core.exceptions import AzureError
from azure.cosmos.aio import ContainerProxy
from azure.cosmos.exceptions import CosmosResourceNotFoundError

from hosting.archive.segments import MOST_ENTRIES, Segment, cut, laid_out
from hosting.errors import ArchiveUnavailableError
from hosting.events import Place
from hosting.ports import Volume
from hosting.storage.cosmos_account import ConnectCosmos
from hosting.storage.outage import Outage

T = TypeVar("T")
CONTAINER = "agent-archive"
PARTITION_KEY = "/thread"
PATIENCE_SECONDS = 20.0
_COVERING = (
    "SELECT c.first, c.entries FROM c WHERE c.thread = @thread AND c.generation = @generation AND c.first >= @lowest "
    "AND c.first <= @last AND c.last >= @first ORDER BY c._ts"
)
_BEFORE = "SELECT c.id, c.first, c.last FROM c WHERE c.thread = @thread AND c.generation < @before"
_ANY_GENERATION = 2**53


class CosmosArchive:
    """An `ArchiveStore` in the container `agent-archive` of a database."""

    def __init__(self, connect: ConnectCosmos, database: str, patience_seconds: float = PATIENCE_SECONDS) -> None:
        self._connect = connect
        self._database = database
        self._patience_seconds = patience_seconds
        self._outage = Outage(f"The archive in the Cosmos DB database {database}")
        self._connecting = asyncio.Lock()
        self._container: ContainerProxy | None = None
        self._open = AsyncExitStack()

    async def put(self, volume: Volume, first: int, entries: Sequence[str]) -> None:
        """See `ArchiveStore.put`: one call, and one more for each million bytes."""
        for segment in cut(first, entries):
            await self._bounded(self._upsert(_item(volume, segment)))

    async def read(self, volume: Volume, first: int, last: int) -> list[str]:
        """See `ArchiveStore.read`: one query. Of segments that overlap, the one that was written later stands."""
        asked = {"generation": volume.generation, "lowest": first - MOST_ENTRIES + 1, "first": first, "last": last}
        items = await self._bounded(self._query(_COVERING, volume.place, asked))
        return laid_out([Segment(item["first"], tuple(item["entries"])) for item in items], first, last)

    async def erase(self, place: Place, before: int | None = None) -> int:
        """See `ArchiveStore.erase`: one query, and a call for each segment."""
        asked = {"before": _ANY_GENERATION if before is None else before}
        items = await self._bounded(self._query(_BEFORE, place, asked))
        for item in items:
            await self._bounded(self._delete(item["id"], place))
        return sum(int(item["last"] - item["first"] + 1) for item in items)

    async def close(self) -> None:
        """See `ArchiveStore.close`; the next use connects again."""
        opened, self._open, self._container = self._open, AsyncExitStack(), None
        await opened.aclose()

    async def _upsert(self, item: dict[str, Any]) -> None:
        await (await self._connected()).upsert_item(item)

    async def _query(self, text: str, place: Place, asked: dict[str, Any]) -> list[dict[str, Any]]:
        asked = {**asked, "thread": _partition(place)}
        parameters: list[dict[str, object]] = [{"name": f"@{name}", "value": value} for name, value in asked.items()]
        container = await self._connected()
        found = container.query_items(text, parameters=parameters, partition_key=_partition(place))
        return [item async for item in found]

    async def _delete(self, item_id: str, place: Place) -> None:
        container = await self._connected()
        try:
            await container.delete_item(item_id, _partition(place))
        except CosmosResourceNotFoundError:
            return

    async def _connected(self) -> ContainerProxy:
        async with self._connecting:
            if self._container is None:
                client = await self._open.enter_async_context(self._connect())
                self._container = client.get_database_client(self._database).get_container_client(CONTAINER)
            return self._container

    async def _bounded(self, work: Awaitable[T]) -> T:
        try:
            done = await asyncio.wait_for(work, self._patience_seconds)
        except (AzureError, OSError, asyncio.TimeoutError) as error:
            self._outage.began(error)
            raise ArchiveUnavailableError.unreached() from error
        self._outage.ended()
        return done


def _partition(place: Place) -> str:
    return f"{place.agent}/{place.thread_id}"


def _item(volume: Volume, segment: Segment) -> dict[str, Any]:
    return {
        "id": f"{volume.generation}-{segment.first}-{segment.last}",
        "thread": _partition(volume.place),
        "generation": volume.generation,
        "first": segment.first,
        "last": segment.last,
        "entries": list(segment.entries),
    }
