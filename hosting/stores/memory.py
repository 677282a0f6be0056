"""The threads' logs in memory: for tests, and to say in few lines what a store must do."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field, replace

from hosting.address import Address
from hosting.stores.contract import Append, Appended, AppendOutcome, Conflict, Row, StoredEvent, StoredHead
from hosting.stores.watchers import ThreadKey, Watchers


@dataclass
class _Thread:
    """What is kept of one thread: each event by its position, with the id of its append, and each row by its name."""

    head: StoredHead | None = None
    events: dict[int, tuple[str, bytes]] = field(default_factory=dict)
    rows: dict[str, Row] = field(default_factory=dict)


class SharedMemory:
    """What several views have in common, as processes have a file or a server."""

    def __init__(self) -> None:
        self.threads: defaultdict[ThreadKey, _Thread] = defaultdict(_Thread)
        self.watchers = Watchers()


class MemoryThreadStore:
    """A `ThreadStore` that ends with its process. Each method is atomic because it awaits nothing."""

    batch_seconds = 0.1

    def __init__(self, hub: str, shared: SharedMemory | None = None) -> None:
        self._hub = hub
        self._shared = shared or SharedMemory()

    async def append(self, address: Address, known: StoredHead | None, append: Append) -> AppendOutcome:
        """See `ThreadStore.append`; the tag of a head is the id of its append."""
        first = append.first_position(known)
        thread = self._thread(address)
        new = replace(append.head, tag=append.head.append_id)
        if thread.head is not None and thread.head.append_id == new.append_id:
            return Appended(thread.head)
        if known != thread.head:
            has_counted = bool(append.events) and thread.events.get(first, ("",))[0] == new.append_id
            return Appended(new) if has_counted else Conflict(thread.head)
        if any(row.is_new and row.name in thread.rows for row in append.rows):
            return Conflict(thread.head)
        thread.head = new
        thread.events.update((first + n, (new.append_id, payload)) for n, payload in enumerate(append.events))
        thread.rows.update((row.name, row) for row in append.rows)
        self._shared.watchers.tell(self._key(address), new.position)
        return Appended(new)

    async def head(self, address: Address) -> StoredHead | None:
        """See `ThreadStore.head`."""
        return self._thread(address).head

    async def events(self, address: Address, after: int) -> list[StoredEvent]:
        """See `ThreadStore.events`."""
        events = self._thread(address).events
        return [StoredEvent(position, events[position][1]) for position in sorted(events) if position > after]

    async def row(self, address: Address, name: str) -> Row | None:
        """See `ThreadStore.row`."""
        return self._thread(address).rows.get(name)

    async def trim(self, address: Address, before: int, rows_before: int) -> None:
        """See `ThreadStore.trim`."""
        thread = self._thread(address)
        thread.events = {position: event for position, event in thread.events.items() if position > before}
        thread.rows = {name: row for name, row in thread.rows.items() if row.position > rows_before}

    async def erase(self, address: Address, through: int) -> None:
        """See `ThreadStore.erase`."""
        thread = self._thread(address)
        thread.events = {position: event for position, event in thread.events.items() if position > through}
        erased = {name: replace(row, payload=b"") for name, row in thread.rows.items() if row.position <= through}
        thread.rows.update(erased)

    async def forget(self, address: Address, known: StoredHead) -> bool:
        """See `ThreadStore.forget`."""
        is_known = self._thread(address).head == known
        if is_known:
            del self._shared.threads[self._key(address)]
        return is_known

    async def watch(self, address: Address, after: int, seconds: float) -> bool:
        """See `ThreadStore.watch`: every append of this process wakes."""
        with self._shared.watchers.watching(self._key(address), after) as watcher:
            head = self._thread(address).head
            if head is not None and head.position > after:
                return True
            return await watcher.woken_within(seconds)

    async def close(self) -> None:
        """See `ThreadStore.close`: it forgets nothing, and ends the watches of every view."""
        self._shared.watchers.release()

    def _key(self, address: Address) -> ThreadKey:
        return self._hub, address.key

    def _thread(self, address: Address) -> _Thread:
        return self._shared.threads[self._key(address)]
