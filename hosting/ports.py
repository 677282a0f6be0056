"""The doors through which the behaviour reaches the outside: run log, entities, time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from hosting.events import Accepted, Event
from hosting.run_record import RunRecord

Clock = Callable[[], float]
"""Seconds since 1970 (UTC). `time.time` in production, a clock that a test moves elsewhere."""


@dataclass(frozen=True)
class Opened:
    """The log was created by this call."""

    record: RunRecord


@dataclass(frozen=True)
class Found:
    """A log was there before, under the same run id or the same receipt; nothing was written."""

    record: RunRecord


class RunLogStore(Protocol):
    """Where run logs are kept: one append-only list of events per run, shared by all processes of the app.

    Every backend passes `tests/contracts/test_run_log_store.py`. Positions count from 1, gapless. Each method raises
    `errors.RunLogUnavailableError` when the store cannot be reached; whether a write happened is then unknown, and
    calling again with the same arguments is safe.
    """

    async def open(self, accepted: Accepted, receipt: str | None = None) -> Opened | Found:
        """Create the log with its first event, if there is none of that run id.

        With a `receipt` (a caller's idempotency key in its scope) the receipt and the log are written in one step, and
        a receipt that exists wins over the run id: the log that it names is found.
        """
        ...

    async def append(self, run_id: str, event: Event, after: int) -> bool:
        """Append at position `after + 1` if `after` is still the last position; tell whether it was appended.

        Compare-and-append is the only way to write, so of two writers one wins and the other reads what it lost to.
        """
        ...

    async def read(self, run_id: str) -> RunRecord | None:
        """Return the run as it stands, or None when there is no such log."""
        ...

    async def close(self) -> None:
        """Let go of files, connections and threads; pending writes are done first."""
        ...


class EntityClient(Protocol):
    """Sends signals to entities: the durable client of one invocation."""

    async def signal(self, entity: str, key: str, operation: str, value: object) -> None:
        """Send a one-way operation whose input is the JSON of `value`. Raises whatever the carrier raises."""
        ...
