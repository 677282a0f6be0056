"""A run's frames from its log alone: no app, no durable engine and no host need to run."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from hosting.errors import UnknownRunError
from hosting.events import Event
from hosting.ports import Erased, RunLogStore
from hosting.reply.frames import Frame, Frames
from hosting.runlog.log import run_deleted

FIRST_POLL_SECONDS = 0.025
LONGEST_POLL_SECONDS = 1.0


async def tail(store: RunLogStore, run_id: str, after: int = 0) -> AsyncIterator[Frame]:
    """Yield the run's frames behind position `after` as they come, up to the last.

    Raises `UnknownRunError`, `ThreadDeletedError` and `LogUnavailableError`. Nothing is written, so a run that
    nobody can end any more has no last frame here: only those who serve it end it.
    """
    frames, position, pause = Frames(), 0, FIRST_POLL_SECONDS
    while True:
        events = await _events(store, run_id, position)
        for event in events:
            for frame in frames.next(event):
                if frames.told > after:
                    yield frame
        if frames.has_ended:
            return
        position += len(events)
        pause = FIRST_POLL_SECONDS if events else min(pause * 1.5, LONGEST_POLL_SECONDS)
        await asyncio.sleep(pause)
        if pause == LONGEST_POLL_SECONDS:
            await _events(store, run_id, 0)


async def _events(store: RunLogStore, run_id: str, after: int) -> tuple[Event, ...]:
    """Return what is new; only a look at the whole log is sure to tell that it was erased meanwhile."""
    events = await store.events(run_id, after)
    if events is None:
        raise UnknownRunError(f"There is no run {run_id[:80]!r} in this log.")
    if isinstance(events, Erased):
        raise run_deleted(run_id)
    return events
