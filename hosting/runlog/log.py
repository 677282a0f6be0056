"""The run log as one process uses it: a store, and what this process already knows of its runs.

Theory. Only the store is true. But a run is mostly opened, executed and waited for in one process, which knows each
event as it appends it; telling the waiter directly makes the wait end within the same loop turn and costs the store
nothing. Knowledge is only ever used where a compare-and-append proves it, or where it is a terminal record, which can
no longer change. Belongs to one event loop.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict

from hosting.events import Accepted, Event, Restarted, Started
from hosting.ports import Found, Opened, RunLogStore
from hosting.run_record import RunRecord

_KNOWN_RUNS = 1024


class RunLog:
    """A `RunLogStore` with in-process knowledge and waiting."""

    def __init__(self, store: RunLogStore) -> None:
        self._store = store
        self._known: OrderedDict[str, RunRecord] = OrderedDict()
        self._executing: set[str] = set()
        self._waiting: dict[str, set[asyncio.Future[None]]] = {}

    async def open(self, accepted: Accepted, receipt: str | None = None) -> Opened | Found:
        """See `RunLogStore.open`."""
        opened = await self._store.open(accepted, receipt)
        self._learn(opened.record)
        return opened

    async def append(self, record: RunRecord, event: Event) -> RunRecord | None:
        """Append to the run as `record` knows it; return the new record, or None when the log has moved on since."""
        if not await self._store.append(record.run_id, event, record.position):
            return None
        moved = record.with_event(event)
        if isinstance(event, Started | Restarted):
            self._executing.add(record.run_id)
        self._learn(moved)
        return moved

    async def read(self, run_id: str) -> RunRecord | None:
        """Return the run as the store has it, or None when there is no such log."""
        record = await self._store.read(run_id)
        if record is not None:
            self._learn(record)
        else:
            self._known.pop(run_id, None)
        return record

    def known(self, run_id: str) -> RunRecord | None:
        """Return what this process last saw of a run, for free; another process may have moved it on."""
        return self._known.get(run_id)

    def executes(self, run_id: str) -> bool:
        """Tell whether this process claimed the run and has not ended it: its events will be announced here."""
        return run_id in self._executing

    def release(self, run_id: str) -> None:
        """Say that this process no longer executes the run, whether or not its end could be written."""
        self._executing.discard(run_id)

    async def changed(self, record: RunRecord, timeout_seconds: float) -> RunRecord | None:
        """Return the run once this process knows more of it than `record`; None when the time is up."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        waiting = self._waiting.setdefault(record.run_id, set())
        waiting.add(future)
        try:
            if self._newer(record) is None:
                await asyncio.wait((future,), timeout=timeout_seconds)
            return self._newer(record)
        finally:
            waiting.discard(future)
            if not waiting:
                self._waiting.pop(record.run_id, None)

    async def close(self) -> None:
        """Close the store."""
        await self._store.close()

    def _newer(self, record: RunRecord) -> RunRecord | None:
        known = self._known.get(record.run_id)
        return known if known is not None and known.position > record.position else None

    def _learn(self, record: RunRecord) -> None:
        known = self._known.get(record.run_id)
        if known is not None and known.position >= record.position:
            return
        if record.terminal is not None:
            self._executing.discard(record.run_id)
        self._known[record.run_id] = record
        self._known.move_to_end(record.run_id)
        while len(self._known) > _KNOWN_RUNS:
            self._known.popitem(last=False)
        for future in self._waiting.get(record.run_id, ()):
            if not future.done():
                future.set_result(None)
