"""The three stores in memory: for tests, and as a short example of a store."""

from __future__ import annotations

import dataclasses
import math
import time
from collections import defaultdict
from collections.abc import Collection, Mapping
from operator import itemgetter

from msgspec import Struct, field, structs

from hosting.core.stores.contract import (
    MOST_POSITION,
    Append,
    Appended,
    AppendOutcome,
    Conflict,
    Processes,
    Row,
    StoredEvent,
    StoredHead,
    ThreadKey,
    Watchers,
)
from hosting.names import Address, StoreKey, agent_of_key, key_prefix
from hosting.ports import Clock


class _Thread(Struct):
    """The data of one thread: each event by its position, with the id of its append, and each row by its name."""

    head: StoredHead | None = None
    events: dict[int, tuple[str, bytes]] = field(default_factory=dict)
    rows: dict[str, Row] = field(default_factory=dict)


class SharedMemory:
    """The shared data of several views, as processes share a file or a server."""

    def __init__(self) -> None:
        self.threads: defaultdict[ThreadKey, _Thread] = defaultdict(_Thread)
        self.watchers = Watchers()


class MemoryThreadStore:
    """A `ThreadStore` that ends with its process. Each method is atomic because it awaits nothing."""

    batch_seconds = 0.1
    processes = Processes()

    def __init__(self, hub: str, shared: SharedMemory | None = None) -> None:
        self._hub = hub
        self._shared = shared or SharedMemory()

    async def append(self, address: Address, base: StoredHead | None, append: Append) -> AppendOutcome:
        """The tag of a head is the id of its append."""
        first = append.first_position(base)
        thread = self._thread(address)
        new = structs.replace(append.head, tag=append.head.append_id)
        if thread.head is not None and thread.head.append_id == new.append_id:
            return Appended(thread.head)
        if base != thread.head:
            has_counted = bool(append.events) and thread.events.get(first, ("",))[0] == new.append_id
            return Appended(new) if has_counted else Conflict(thread.head)
        if any(row.is_new and row.name in thread.rows for row in append.rows):
            return Conflict(thread.head)
        thread.head = new
        thread.events.update((first + n, (new.append_id, payload)) for n, payload in enumerate(append.events))
        thread.rows.update((row.name, row) for row in append.rows)
        self._shared.watchers.wake(self._key(address), new.position)
        return Appended(new)

    async def head(self, address: Address) -> StoredHead | None:
        return self._thread(address).head

    async def heads(self, agent: str, owner: str, after: str, limit: int) -> list[tuple[str, StoredHead]]:
        prefix = key_prefix(agent, owner)
        heads = (
            (key.removeprefix(prefix), thread.head)
            for (hub, key), thread in self._shared.threads.items()
            if hub == self._hub and key.startswith(prefix) and thread.head is not None
        )
        return sorted((pair for pair in heads if pair[0] > after), key=itemgetter(0))[:limit]

    async def agents(self) -> list[str]:
        keys = (key for (hub, key), thread in self._shared.threads.items() if hub == self._hub and thread.head)
        return sorted({agent_of_key(key) for key in keys})

    async def events(self, address: Address, after: int, through: int = MOST_POSITION) -> list[StoredEvent]:
        events = self._thread(address).events
        positions = (position for position in sorted(events) if after < position <= through)
        return [StoredEvent(position, events[position][1]) for position in positions]

    async def row(self, address: Address, name: str) -> Row | None:
        return self._thread(address).rows.get(name)

    async def trim(self, address: Address, before: int, rows_before: int) -> None:
        thread = self._thread(address)
        thread.events = {position: event for position, event in thread.events.items() if position > before}
        thread.rows = {name: row for name, row in thread.rows.items() if row.position > rows_before}

    async def erase(self, address: Address, through: int) -> None:
        thread = self._thread(address)
        thread.events = {position: event for position, event in thread.events.items() if position > through}
        erased = [name for name, row in thread.rows.items() if row.position <= through]
        thread.rows.update({name: dataclasses.replace(thread.rows[name], payload=b"") for name in erased})

    async def forget(self, address: Address, base: StoredHead) -> bool:
        is_known = self._thread(address).head == base
        if is_known:
            del self._shared.threads[self._key(address)]
        return is_known

    async def scrub(self) -> None:
        """Replaced data is nowhere."""

    async def watch(self, address: Address, after: int, seconds: float) -> bool:
        """Every append of this process wakes."""
        with self._shared.watchers.watching(self._key(address), after) as watcher:
            head = self._thread(address).head
            if head is not None and head.position > after:
                return True
            return await watcher.woken_within(seconds)

    async def close(self) -> None:
        """It forgets nothing, and ends the watches of every view."""
        self._shared.watchers.release()

    def _key(self, address: Address) -> ThreadKey:
        return self._hub, address.key

    def _thread(self, address: Address) -> _Thread:
        return self._shared.threads[self._key(address)]


class MemoryObjects:
    """An `ObjectStore` of one process that ends with it."""

    def __init__(self, clock: Clock = time.time) -> None:
        self._clock = clock
        self._by_key: dict[StoreKey, dict[str, tuple[float, bytes]]] = {}

    async def put(self, store_key: StoreKey, objects: Mapping[str, bytes]) -> None:
        held, now = self._by_key.setdefault(store_key, {}), self._clock()
        for name, body in objects.items():
            held.pop(name, None)  # so that it becomes the last
            held[name] = (now, body)

    async def read(self, store_key: StoreKey, names: Collection[str]) -> dict[str, bytes]:
        held = self._by_key.get(store_key, {})
        return {name: held[name][1] for name in names if name in held}

    async def names(self, store_key: StoreKey, prefix: str = "") -> dict[str, float]:
        held = self._by_key.get(store_key, {})
        return {name: put_at for name, (put_at, _) in held.items() if name.startswith(prefix)}

    async def put_between(self, space: str, after: float, before: float) -> list[tuple[float, str]]:
        moments = {
            store_key.name: [put_at for put_at, _ in held.values() if after <= put_at < before]
            for store_key, held in self._by_key.items()
            if store_key.space == space
        }
        return sorted((min(times), name) for name, times in moments.items() if times)

    async def epochs(self, thread: StoreKey) -> list[int]:
        return thread.epochs_in(store_key.name for store_key in self._by_key if store_key.space == thread.space)

    async def erase(
        self, store_key: StoreKey, names: Collection[str] | None = None, *, before: float = math.inf
    ) -> None:
        held = self._by_key.get(store_key, {})
        for name in [
            name for name, (put_at, _) in held.items() if put_at < before and (names is None or name in names)
        ]:
            del held[name]
        if not held:
            self._by_key.pop(store_key, None)

    async def close(self) -> None:
        """Forget nothing: a closed memory store may be read on."""
