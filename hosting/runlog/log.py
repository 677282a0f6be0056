"""The run log as one process uses it: a store, and what this process already knows of its runs.

Theory. Only the store is true. But a run is mostly opened, executed and waited for in one process, which knows each
event as it appends it; telling the waiter directly makes the wait end within the same loop turn and costs the store
nothing. Knowledge is only ever used where a compare-and-append proves it, or where it is a terminal record, which can
no longer change. What another process may want of a run that is executed here, its end, is looked for once a second for
all runs together. Belongs to one event loop.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace

from hosting.errors import HostingError, ThreadDeletedError, ThreadDeletingError, TooManyRunsError
from hosting.events import Accepted, Event, Place
from hosting.ports import Deleting, Deletion, Erased, Found, Opened, QueueFull, RunLogStore
from hosting.process.run_line import tell_end
from hosting.run_record import RunRecord
from hosting.runlog.recent import Recent

logger = logging.getLogger(__name__)

CANCEL_LOOK_SECONDS = 0.9
_KNOWN_RUNS = 1024


class RunLog:
    """A `RunLogStore` with in-process knowledge, waiting and cancellation."""

    def __init__(self, store: RunLogStore) -> None:
        self._store = store
        self._recent = Recent()
        self._known: OrderedDict[str, RunRecord] = OrderedDict()
        self._executing: dict[str, Callable[[], None]] = {}
        self._waiting: dict[str, set[asyncio.Future[None]]] = {}
        self._next_look: asyncio.TimerHandle | None = None
        self._look: asyncio.Task[None] | None = None

    @property
    def batch_seconds(self) -> float:
        """See `RunLogStore`."""
        return self._store.batch_seconds

    async def open(
        self, accepted: Accepted, receipt: str | None = None, most_open: int | None = None
    ) -> Opened | Found:
        """See `RunLogStore.open`.

        Raises `ThreadDeletedError` for a receipt whose run is erased, `ThreadDeletingError` and `TooManyRunsError`.
        """
        opened = await self._store.open(accepted, receipt, most_open)
        if isinstance(opened, Erased):
            raise run_deleted(opened.run_id)
        if isinstance(opened, Deleting):
            raise ThreadDeletingError(f"Thread {accepted.thread_id!r} is being deleted. Try again in a moment.")
        if isinstance(opened, QueueFull):
            raise TooManyRunsError(
                f"{opened.open_runs} runs of thread {accepted.thread_id!r} wait or run already. Send the next when one "
                "has ended."
            )
        self._learn(opened.record)
        return opened

    async def append(self, record: RunRecord, *events: Event) -> RunRecord | None:
        """Append to the run as `record` knows it; return the new record, or None when the log has moved on since."""
        if not await self._store.append(record.run_id, *events, after=record.position):
            return None
        moved = functools.reduce(RunRecord.with_event, events, record)
        self._recent.add(record.run_id, record.position, events)
        self._learn(moved)
        if record.terminal is None:
            tell_end(moved)
        return moved

    async def read(self, run_id: str) -> RunRecord | None:
        """Return the run as the store has it, or None when there never was such a log.

        Raises `ThreadDeletedError` when the run was deleted with its thread.
        """
        record = await self._store.read(run_id)
        if isinstance(record, RunRecord):
            self._learn(record)
            return record
        self._forget(run_id)
        if isinstance(record, Erased):
            raise run_deleted(run_id)
        return None

    def followed(self, run_id: str) -> contextlib.AbstractContextManager[None]:
        """Within this context `events` has what this process appends to the run, without asking the store."""
        return self._recent.kept(run_id)

    async def events(self, run_id: str, after: int) -> tuple[Event, ...]:
        """Return the run's events behind a position, oldest first; none when there never was such a run.

        Raises `ThreadDeletedError` when the run was deleted with its thread.
        """
        recent = self._recent.behind(run_id, after)
        if recent is not None:
            return recent
        events = await self._store.events(run_id, after)
        if isinstance(events, Erased):
            self._forget(run_id)
            raise run_deleted(run_id)
        return events or ()

    async def runs_of(self, place: Place, limit: int) -> list[RunRecord]:
        """See `RunLogStore.runs_of`."""
        return await self._store.runs_of(place, limit)

    async def mark_deleting(self, place: Place, deletion_id: str) -> Deletion:
        """See `RunLogStore.mark_deleting`."""
        return await self._store.mark_deleting(place, deletion_id)

    async def deletion(self, place: Place) -> Deletion | None:
        """See `RunLogStore.deletion`."""
        return await self._store.deletion(place)

    async def erase(self, place: Place, deletion: Deletion, *, unless_open: bool = False) -> Deletion | None:
        """See `RunLogStore.erase`; whoever waits for one of the runs looks again."""
        mark = await self._store.erase(place, deletion, unless_open=unless_open)
        if mark is not None:
            for record in [record for record in self._known.values() if record.accepted.place == place]:
                self._forget(record.run_id)
        return mark

    async def settle(self, place: Place, deletion: Deletion) -> None:
        """See `RunLogStore.settle`."""
        await self._store.settle(place, deletion)

    async def kept(self, run_id: str) -> RunRecord | None:
        """Return the run as `read` does, None also when it was deleted."""
        with contextlib.suppress(ThreadDeletedError):
            return await self.read(run_id)
        return None

    async def expire(self, before: float, limit: int) -> int:
        """See `RunLogStore.expire`."""
        return await self._store.expire(before, limit)

    def known(self, run_id: str) -> RunRecord | None:
        """Return what this process last saw of a run, for free; another process may have moved it on."""
        return self._known.get(run_id)

    def executing(self, run_id: str, stop: Callable[[], None]) -> None:
        """Say that this process executes the run from now on: `stop` is called once somebody asked to cancel it."""
        self._executing[run_id] = stop
        if self._next_look is None:
            self._next_look = asyncio.get_running_loop().call_later(CANCEL_LOOK_SECONDS, self._begin_look)

    def executes(self, run_id: str) -> bool:
        """Tell whether this process executes the run: its events will be announced here."""
        return run_id in self._executing

    def release(self, run_id: str) -> None:
        """Say that this process no longer executes the run, whether or not its end could be written."""
        self._executing.pop(run_id, None)

    async def changed(self, run_id: str, position: int, timeout_seconds: float) -> RunRecord | None:
        """Return the run once this process knows of an event behind `position`; None when there is reason to look, or
        the time is up."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        waiting = self._waiting.setdefault(run_id, set())
        waiting.add(future)
        try:
            if self._newer(run_id, position) is None:
                await asyncio.wait((future,), timeout=timeout_seconds)
            return self._newer(run_id, position)
        finally:
            waiting.discard(future)
            if not waiting:
                self._waiting.pop(run_id, None)

    async def close(self) -> None:
        """Close the store."""
        if self._next_look is not None:
            self._next_look.cancel()
            self._next_look = None
        await self._store.close()

    def _begin_look(self) -> None:
        self._next_look = None
        if self._executing:
            self._look = asyncio.ensure_future(self._look_for_cancels())

    async def _look_for_cancels(self) -> None:
        try:
            for run_id in await self._store.cancel_requests(list(self._executing)):
                await self.read(run_id)
        except HostingError as error:
            logger.warning("Requests to cancel runs cannot be looked for: %s", error.detail)
        if self._executing and self._next_look is None:
            self._next_look = asyncio.get_running_loop().call_later(CANCEL_LOOK_SECONDS, self._begin_look)

    def _newer(self, run_id: str, position: int) -> RunRecord | None:
        known = self._known.get(run_id)
        return known if known is not None and known.position > position else None

    def _learn(self, record: RunRecord) -> None:
        known = self._known.get(record.run_id)
        if known is not None and known.position >= record.position:
            return
        self._known[record.run_id] = replace(record, steps=()) if record.terminal is not None else record
        self._known.move_to_end(record.run_id)
        while len(self._known) > _KNOWN_RUNS:
            self._known.popitem(last=False)
        if record.cancel_requested and record.run_id in self._executing:
            self._executing[record.run_id]()
        self._wake(record.run_id)

    def _forget(self, run_id: str) -> None:
        self._known.pop(run_id, None)
        self._wake(run_id)

    def _wake(self, run_id: str) -> None:
        for future in self._waiting.get(run_id, ()):
            if not future.done():
                future.set_result(None)


def run_deleted(run_id: str) -> ThreadDeletedError:
    """Return what is said to whoever asks for a run that was deleted."""
    return ThreadDeletedError(f"Run {run_id!r} was deleted, with its thread or by its age.")
