"""The run log in one SQLite file: the default on one machine, for any number of processes.

Theory. SQLite is the lock between processes: WAL, BEGIN IMMEDIATE and a busy time-out. Inside a process one thread owns
the connection and takes whatever is queued as one transaction (group commit), so that a burst of runs costs one commit
and never the event loop. `synchronous=NORMAL` loses nothing when a process is killed; FULL is a setting for power cuts.
Source: turn.md, Records 12.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from hosting.errors import LogUnavailableError
from hosting.events import Accepted, Event, Place, encode
from hosting.ports import Deletion, Erased, Opening
from hosting.run_record import RunRecord
from hosting.runlog import sqlite_steps as steps
from hosting.runlog.receipts import receipt_digest
from hosting.runlog.sqlite_schema import RUN_LOG
from hosting.storage.sqlite_file import BUSY_SECONDS
from hosting.storage.sqlite_store import StoreFile


class SqliteStore:
    """A `RunLogStore` in the file at `path`; the file and its folder are made at the first use."""

    batch_seconds = 0.1

    def __init__(self, path: Path, synchronous: str = "NORMAL", busy_seconds: float = BUSY_SECONDS) -> None:
        self._file = StoreFile(RUN_LOG, path, LogUnavailableError.unreached, synchronous, busy_seconds)

    async def open(self, accepted: Accepted, receipt: str | None = None, most_open: int | None = None) -> Opening:
        """See `RunLogStore.open`: receipt and first event in one transaction."""
        body, kept = encode(accepted), None if receipt is None else receipt_digest(receipt)
        return await self._file.do(lambda connection: steps.open_run(connection, accepted, body, kept, most_open))

    async def append(self, run_id: str, *events: Event, after: int) -> bool:
        """See `RunLogStore.append`."""
        encoded = [(event, encode(event)) for event in events]
        return await self._file.do(lambda connection: steps.append_events(connection, run_id, encoded, after))

    async def read(self, run_id: str) -> RunRecord | Erased | None:
        """See `RunLogStore.read`."""
        return await self._file.do(lambda connection: steps.read_run(connection, run_id))

    async def events(self, run_id: str, after: int) -> tuple[Event, ...] | Erased | None:
        """See `RunLogStore.events`."""
        return await self._file.do(lambda connection: steps.read_events(connection, run_id, after))

    async def cancel_requests(self, run_ids: Collection[str]) -> frozenset[str]:
        """See `RunLogStore.cancel_requests`."""
        return await self._file.do(lambda connection: steps.cancel_requests(connection, run_ids))

    async def runs_of(self, place: Place, limit: int) -> list[RunRecord]:
        """See `RunLogStore.runs_of`."""
        return await self._file.do(lambda connection: steps.runs_of(connection, place, limit))

    async def mark_deleting(self, place: Place, deletion_id: str) -> Deletion:
        """See `RunLogStore.mark_deleting`."""
        return await self._file.do(lambda connection: steps.mark_deleting(connection, place, deletion_id))

    async def deletion(self, place: Place) -> Deletion | None:
        """See `RunLogStore.deletion`."""
        return await self._file.do(lambda connection: steps.deletion_of(connection, place))

    async def erase(self, place: Place, deletion: Deletion, *, unless_open: bool = False) -> Deletion | None:
        """See `RunLogStore.erase`: deleted pages are overwritten, then the write-ahead log is emptied."""
        mark = await self._file.do(lambda connection: steps.erase_thread(connection, place, deletion, unless_open))
        if mark is not None:
            await self._file.forget_overwritten()
        return mark

    async def settle(self, place: Place, deletion: Deletion) -> None:
        """See `RunLogStore.settle`."""
        await self._file.do(lambda connection: steps.settle(connection, place, deletion))

    async def expire(self, before: float, limit: int) -> int:
        """See `RunLogStore.expire`: one transaction; deleted pages are overwritten."""
        return await self._file.do(lambda connection: steps.expire_runs(connection, before, limit))

    async def close(self) -> None:
        """See `RunLogStore.close`."""
        await self._file.close()
