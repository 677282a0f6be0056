"""Threads' logs in Azure Tables: the default on Azure, in the storage account that the app already has.

Theory. A thread is a partition, and an append is one batch on it, which the service carries out whole or not at all:
the head is inserted, or replaced if it has still the etag that the caller knows, and events and rows are written after
it. Inserting at the next position alone would not compare: after an erasure it would succeed into a hole.

Each call is made once and waits 3 s at most: the caller tries again within its own time. An append that was refused
because of another head may still have been done, by a call with a lost answer. So the head is read, and the events at
the first position next to it: both name the append that wrote them.

The table is made when a call finds it missing. Trimming and erasing change each entity at the version that they read,
and read it again when it was changed meanwhile: nothing that was removed comes back, and nothing newer goes.
"""

from __future__ import annotations

import asyncio
import dataclasses
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from azure.core.exceptions import AzureError, HttpResponseError, ResourceNotFoundError
from azure.data.tables import TableErrorCode
from msgspec import structs

from hosting.core.stores import table_entities as entities
from hosting.core.stores.connection import ENDLESS, Connection, Outage
from hosting.core.stores.contract import (
    MOST_EVENTS,
    MOST_POSITION,
    Append,
    Appended,
    AppendOutcome,
    Conflict,
    Processes,
    Row,
    StoredEvent,
    StoredHead,
    Unknown,
)
from hosting.core.stores.storage_account import CALL_SECONDS, OpenTable
from hosting.core.stores.table_entities import (
    HEAD,
    KEYS,
    MOST_CHANGES,
    BatchError,
    Entity,
    EntityChange,
    Table,
    event_key,
    submit,
)
from hosting.errors import ConfigurationError, LogUnavailableError
from hosting.listing import Cursors
from hosting.names import MAX_ID_LENGTH, Address, agent_of_key, behind_agent, key_prefix

T = TypeVar("T")
_HUB = re.compile(r"[A-Za-z][A-Za-z0-9]{2,44}")
_EVENTS = "RowKey ge 'e' and RowKey lt 'f'"
_ROWS = "RowKey ge 'r-' and RowKey lt 'r.'"
_NEWER = "~" * (MAX_ID_LENGTH + 1)
"""Comes after every thread id: its characters sort after theirs, and it is longer."""
_MOST_TRIES = 10
_CONTENDED = f"The rows to remove had changed at each of {_MOST_TRIES} reads."
_REFUSED = (
    TableErrorCode.ENTITY_ALREADY_EXISTS,
    TableErrorCode.UPDATE_CONDITION_NOT_SATISFIED,
    TableErrorCode.CONDITION_NOT_MET,
    TableErrorCode.RESOURCE_NOT_FOUND,
    TableErrorCode.ENTITY_NOT_FOUND,
)
"""Codes, not statuses, of a batch that found another head or row than it was to: 404 and 409 have other reasons too."""


def table_name(hub: str) -> str:
    """Return the name of a task hub's table. Raises `ConfigurationError` for a name that no task hub has."""
    if not _HUB.fullmatch(hub):
        raise ConfigurationError(
            f"The task hub {hub[:80]!r} must be 3 to 45 of the characters A-Z, a-z and 0-9, and begin with a letter."
        )
    return f"{hub}AgentLog"


class TablesThreadStore:
    """A `ThreadStore` in the table of a task hub, connected to at the first use. One for a process is enough.

    Each docstring has how many calls of the service it makes.
    """

    batch_seconds = 0.5
    processes = Processes()

    def __init__(self, open_table: OpenTable, hub: str, call_seconds: float = CALL_SECONDS) -> None:
        name = table_name(hub)
        self._table = Connection(lambda: open_table(name))
        self._call_seconds = call_seconds
        self._outage = Outage(f"The table {name}", LogUnavailableError, AzureError, OSError)
        self._making = asyncio.Lock()
        self._times_made = 0
        self._under_way = 0
        self._is_idle = asyncio.Event()
        self._is_idle.set()

    async def append(self, address: Address, base: StoredHead | None, append: Append) -> AppendOutcome:
        """One call; where the head is another one, two more, next to each other."""
        first, partition = append.first_position(base), address.key
        head = entities.head_entity(partition, append.head)
        changes = [EntityChange("POST", head) if base is None else EntityChange("PUT", head, base.tag)]
        changes += [EntityChange("POST", entity) for entity in entities.event_entities(partition, append, first)]
        changes += [
            EntityChange("POST" if row.is_new else "PUT", entities.row_entity(partition, row)) for row in append.rows
        ]
        try:
            async with self._reaching():
                tags = await self._submit(changes)
                if tags is None:
                    return await self._own_or_conflict(partition, append, first)
                return Appended(structs.replace(append.head, tag=tags[0]))
        except LogUnavailableError as error:
            return Unknown(error.retry_after_seconds)

    async def head(self, address: Address) -> StoredHead | None:
        """One call."""
        async with self._reaching():
            return await self._head(address.key)

    async def heads(self, agent: str, owner: str, after: str, limit: int) -> list[tuple[str, StoredHead]]:
        """A range of partitions: a call for each 1,000 entities in it, of which only the heads come back."""
        prefix = key_prefix(agent, owner)
        among = f"PartitionKey gt '{prefix}{after}' and PartitionKey lt '{prefix}{_NEWER}'"
        async with self._reaching():
            heads = await self._find(f"{among} and RowKey eq '{HEAD}'", most=limit)
        return [(entity["PartitionKey"].removeprefix(prefix), entities.read_head(entity)) for entity in heads[:limit]]

    async def agents(self) -> list[str]:
        """A call for each, and one more."""
        names, after = list[str](), ""
        async with self._reaching():
            while page := await self._find(f"PartitionKey gt '{after}'", ["PartitionKey"], most=1):
                names.append(agent_of_key(page[0]["PartitionKey"]))
                after = behind_agent(names[-1])
        return sorted(names)

    async def events(self, address: Address, after: int, through: int = MOST_POSITION) -> list[StoredEvent]:
        """One call for each 1,000 appends or 4 MiB."""
        least, most = event_key(after), event_key(through + MOST_EVENTS)  # an entity has the key of its last event
        async with self._reaching():
            keys = f"RowKey gt '{least}' and RowKey lt '{most}' and first le {through}L"
            appends = await self._find_in(address.key, keys)
        events = [event for entity in appends for event in entities.read_events(entity, after)]
        return [event for event in events if event.position <= through]

    async def row(self, address: Address, name: str) -> Row | None:
        """One call."""
        async with self._reaching():
            entity = await self._get(address.key, entities.row_key(name))
        return None if entity is None else entities.read_row(entity)

    async def trim(self, address: Address, before: int, rows_before: int) -> None:
        """A call for each 1,000 entities to be found, and for each 100 to be removed."""
        async with self._reaching():
            await self._rewrite(address.key, f"{_ROWS} and position le {rows_before}L", KEYS, _removal)
            await self._rewrite(address.key, _events_through(before), KEYS, _removal)

    async def erase(self, address: Address, through: int) -> None:
        """Calls as for `trim`. Of events appended together, those after `through` stay."""
        shared = f"RowKey gt '{event_key(through)}' and RowKey lt 'f' and first le {through}L"
        rows = f"{_ROWS} and position le {through}L and size gt 0"

        def shortened(entity: Any) -> EntityChange:
            return EntityChange("PUT", entities.without_events(entity, through), entities.etag_of(entity))

        def emptied(entity: Any) -> EntityChange:
            row = dataclasses.replace(entities.read_row(entity), payload=b"")
            return EntityChange("PUT", entities.row_entity(address.key, row), entities.etag_of(entity))

        async with self._reaching():
            await self._rewrite(address.key, _events_through(through), KEYS, _removal)
            await self._rewrite(address.key, shared, None, shortened)
            await self._rewrite(address.key, rows, [*KEYS, "position"], emptied)

    async def forget(self, address: Address, base: StoredHead) -> bool:
        """A call for each 1,000 rows to be found, and for each 99 to be removed.

        The head is in each batch: of more than one, all but the last write it as it is, and so only compare it.
        """
        async with self._reaching():
            head: StoredHead | None = base
            for _ in range(_MOST_TRIES):
                if head is None or head.append_id != base.append_id:
                    return False
                rows = [_removal(row) for row in await self._find_in(address.key, _ROWS, KEYS)]
                if await self._forget(address.key, head, rows):
                    return True
                head = await self._head(address.key)
            raise AzureError(_CONTENDED)

    async def scrub(self) -> None:
        """Replaced data cannot be read from the service."""

    async def watch(self, address: Address, after: int, seconds: float) -> bool:
        """Tables cannot push."""
        return False

    async def close(self) -> None:
        """Every call that is under way is done first."""
        await self._is_idle.wait()
        await self._table.close()

    async def _own_or_conflict(self, partition: str, append: Append, first: int) -> AppendOutcome:
        """Return whether an append that was refused had been done before, whatever was appended after it."""
        if not append.events:
            head = await self._head(partition)
            return Appended(head) if head and head.append_id == append.head.append_id else Conflict(head)
        at_first = f"RowKey ge '{event_key(first)}' and RowKey lt 'f'"
        head, there = await asyncio.gather(
            self._head(partition), self._find_in(partition, at_first, [*KEYS, "append_id"], most=1)
        )
        if head and head.append_id == append.head.append_id:
            return Appended(head)
        if there and there[0]["append_id"] == append.head.append_id:
            return Appended(structs.replace(append.head, tag=entities.etag_of(there[0])))
        return Conflict(head)

    async def _forget(self, partition: str, head: StoredHead, removals: list[EntityChange]) -> bool:
        entity = entities.head_entity(partition, head)
        while len(removals) >= MOST_CHANGES:
            part, removals = removals[: MOST_CHANGES - 1], removals[MOST_CHANGES - 1 :]
            tags = await self._submit([EntityChange("PUT", entity, head.tag), *part])
            if tags is None:
                return False
            head = structs.replace(head, tag=tags[0])
        return await self._submit([EntityChange("DELETE", entity, head.tag), *removals]) is not None

    async def _rewrite(
        self, partition: str, condition: str, select: list[str] | None, change: Callable[[Any], EntityChange]
    ) -> None:
        """Change every entity that meets the condition at the version that was read, again where that was changed."""
        for _ in range(_MOST_TRIES):
            changes = [change(entity) for entity in await self._find_in(partition, condition, select)]
            parts = [changes[start : start + MOST_CHANGES] for start in range(0, len(changes), MOST_CHANGES)]
            if None not in [await self._submit(part) for part in parts]:
                return
        raise AzureError(_CONTENDED)

    async def _head(self, partition: str) -> StoredHead | None:
        entity = await self._get(partition, HEAD)
        return None if entity is None else entities.read_head(entity)

    async def _get(self, partition: str, key: str) -> Entity | None:
        try:
            return await self._call(lambda table: table.client.get_entity(partition, key))
        except ResourceNotFoundError as error:
            if _code_of(error) not in _REFUSED:
                raise
            return None

    async def _find_in(
        self, partition: str, condition: str, select: list[str] | None = None, most: int | None = None
    ) -> list[Any]:
        """Return the thread's entities that meet the condition; as `_find` does."""
        return await self._find(f"PartitionKey eq '{partition}' and {condition}", select, most)

    async def _find(self, query: str, select: list[str] | None = None, most: int | None = None) -> list[Any]:
        """Return the entities that meet the condition, in the order of their keys; about `most` where that is given.

        Any page may be cut short, or be empty, and have a continuation, none of them twice.
        """
        items: list[Any] = []
        pages: Any = None
        cursors = Cursors()

        async def next_page(table: Table) -> list[Any]:
            nonlocal pages
            pages = pages or table.client.query_entities(query, select=select, results_per_page=most).by_page()
            return [entity async for entity in await pages.__anext__()]

        while pages is None or (pages.continuation_token and (most is None or len(items) < most)):
            items += await self._call(next_page)
            if pages.continuation_token and not cursors.is_new(tuple(pages.continuation_token.values())):
                raise AzureError(ENDLESS)
        return items

    async def _submit(self, changes: list[EntityChange]) -> list[str] | None:
        """Make all changes and return their entities' etags; None, and none is made, where one is refused."""
        try:
            return await self._call(lambda table: submit(table, changes))
        except BatchError as error:
            if error.error_code not in _REFUSED:
                raise
            return None

    async def _call(self, call: Callable[[Table], Awaitable[T]]) -> T:
        """Call the service once; once more when the table was missing and is made."""
        times_made, table = self._times_made, await self._table.client()
        try:
            return await asyncio.wait_for(call(table), self._call_seconds)
        except HttpResponseError as error:
            if _code_of(error) != TableErrorCode.TABLE_NOT_FOUND:
                raise
        async with self._making:
            if self._times_made == times_made:
                try:
                    await asyncio.wait_for(table.client.create_table(), self._call_seconds)
                except HttpResponseError as error:
                    if _code_of(error) != TableErrorCode.TABLE_ALREADY_EXISTS:  # another process was first
                        raise
                self._times_made += 1
        return await asyncio.wait_for(call(table), self._call_seconds)

    @asynccontextmanager
    async def _reaching(self) -> AsyncIterator[None]:
        """Have a failure of the service logged once and raised as `LogUnavailableError`; a close waits meanwhile."""
        self._under_way += 1
        self._is_idle.clear()
        try:
            with self._outage.guarded():
                yield
        finally:
            self._under_way -= 1
            if not self._under_way:
                self._is_idle.set()


def _events_through(position: int) -> str:
    return f"{_EVENTS} and RowKey le '{event_key(position)}'"


def _removal(entity: Any) -> EntityChange:
    return EntityChange("DELETE", entity, entities.etag_of(entity))


def _code_of(error: HttpResponseError) -> object:
    """Return the service's code, which the client sets on the errors that it read an answer for."""
    return getattr(error, "error_code", None)
