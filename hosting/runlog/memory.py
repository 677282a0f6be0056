"""The run log in memory: for tests, and to say in few lines what a store must do."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace

from hosting.events import Accepted, CancelRequested, Event, Place
from hosting.ports import Deleting, Deletion, Erased, Found, Opened, Opening, QueueFull
from hosting.run_record import RunRecord, fold


class MemoryStore:
    """A `RunLogStore` of one process that ends with it. Each method is atomic because it awaits nothing."""

    batch_seconds = 0.1

    def __init__(self) -> None:
        self._events: dict[str, list[Event]] = {}
        self._receipts: dict[str, str] = {}
        self._deletions: dict[Place, Deletion] = {}
        self._erased: set[str] = set()

    async def open(self, accepted: Accepted, receipt: str | None = None, most_open: int | None = None) -> Opening:
        """See `RunLogStore.open`."""
        run_id = self._receipts.get(receipt, accepted.run_id) if receipt else accepted.run_id
        existing = await self.read(run_id)
        if existing is not None:
            return existing if isinstance(existing, Erased) else Found(existing)
        place = accepted.place
        if (mark := self._deletions.get(place)) is not None and mark.digest is None:
            return Deleting()
        open_runs = sum(record.terminal is None for record in self._records(place))
        if most_open is not None and open_runs >= most_open:
            return QueueFull(open_runs)
        self._events[run_id] = [accepted]
        if receipt:
            self._receipts[receipt] = run_id
        return Opened(RunRecord(accepted=accepted, signalled_at=accepted.at))

    async def append(self, run_id: str, *events: Event, after: int) -> bool:
        """See `RunLogStore.append`."""
        held = self._events.get(run_id, [])
        if not held or len(held) != after:
            return False
        held.extend(events)
        return True

    async def read(self, run_id: str) -> RunRecord | Erased | None:
        """See `RunLogStore.read`."""
        return Erased(run_id) if run_id in self._erased else fold(self._events.get(run_id, ()))

    async def events(self, run_id: str, after: int) -> tuple[Event, ...] | Erased | None:
        """See `RunLogStore.events`."""
        if run_id in self._erased:
            return Erased(run_id)
        held = self._events.get(run_id)
        return None if held is None else tuple(held[after:])

    async def cancel_requests(self, run_ids: Collection[str]) -> frozenset[str]:
        """See `RunLogStore.cancel_requests`."""
        return frozenset(
            run_id
            for run_id in run_ids
            if any(isinstance(event, CancelRequested) for event in self._events.get(run_id, ()))
        )

    async def runs_of(self, place: Place, limit: int) -> list[RunRecord]:
        """See `RunLogStore.runs_of`."""
        return list(reversed(list(self._records(place))))[:limit]

    async def mark_deleting(self, place: Place, deletion_id: str) -> Deletion:
        """See `RunLogStore.mark_deleting`."""
        mark = self._deletions.get(place)
        if mark is None or mark.digest is not None:
            mark = self._deletions[place] = Deletion(deletion_id)
        return mark

    async def deletion(self, place: Place) -> Deletion | None:
        """See `RunLogStore.deletion`."""
        return self._deletions.get(place)

    async def erase(self, place: Place, deletion: Deletion, *, unless_open: bool = False) -> Deletion | None:
        """See `RunLogStore.erase`."""
        records = list(self._records(place))
        if unless_open and any(record.terminal is None for record in records):
            return None
        for record in records:
            del self._events[record.run_id]
            self._erased.add(record.run_id)
        self._deletions[place] = replace(deletion, runs=len(records))
        return self._deletions[place]

    async def settle(self, place: Place, deletion: Deletion) -> None:
        """See `RunLogStore.settle`."""
        mark = self._deletions.get(place)
        if mark is not None and mark.id == deletion.id:
            self._deletions[place] = deletion

    async def expire(self, before: float, limit: int) -> int:
        """See `RunLogStore.expire`."""
        records = [record for record in map(fold, self._events.values()) if record is not None]
        old = [record for record in records if record.terminal is not None and record.accepted.at < before][:limit]
        for record in old:
            del self._events[record.run_id]
            self._erased.add(record.run_id)
        return len(old)

    async def close(self) -> None:
        """Forget nothing: a closed memory store may be read on."""

    def _records(self, place: Place) -> Iterator[RunRecord]:
        records = (fold(events) for events in self._events.values())
        return (record for record in records if record is not None and record.accepted.place == place)
