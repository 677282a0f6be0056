"""The run log in memory: for tests, and to say in few lines what a store must do."""

from __future__ import annotations

from hosting.events import Accepted, Event
from hosting.ports import Found, Opened
from hosting.run_record import RunRecord, fold


class MemoryStore:
    """A `RunLogStore` of one process that ends with it."""

    def __init__(self) -> None:
        self._events: dict[str, list[Event]] = {}
        self._receipts: dict[str, str] = {}

    async def open(self, accepted: Accepted, receipt: str | None = None) -> Opened | Found:
        """See `RunLogStore.open`; atomic because nothing is awaited."""
        run_id = self._receipts.get(receipt, accepted.run_id) if receipt else accepted.run_id
        existing = fold(self._events.get(run_id, ()))
        if existing is not None:
            return Found(existing)
        self._events[run_id] = [accepted]
        if receipt:
            self._receipts[receipt] = run_id
        return Opened(RunRecord(accepted=accepted, signalled_at=accepted.at))

    async def append(self, run_id: str, event: Event, after: int) -> bool:
        """See `RunLogStore.append`."""
        events = self._events.get(run_id, [])
        if not events or len(events) != after:
            return False
        events.append(event)
        return True

    async def read(self, run_id: str) -> RunRecord | None:
        """See `RunLogStore.read`."""
        return fold(self._events.get(run_id, ()))

    async def close(self) -> None:
        """Forget nothing: a closed memory store may be read on."""
