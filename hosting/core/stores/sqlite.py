"""The threads' logs in one SQLite file: the default on one machine, for any number of processes.

Theory. SQLite is the lock between processes: WAL, BEGIN IMMEDIATE and a busy time-out. Inside a process, appends that
come at once are one transaction, so that a burst costs one commit (`sqlite_writer`). `synchronous=NORMAL` loses nothing
when a process is killed; FULL, for power cuts, is a setting.

SQLite cannot wake another process. So while anybody watches, one thread polls whether the file has changed.
"""

from __future__ import annotations

import contextlib
import sqlite3
import threading
from pathlib import Path

from msgspec.structs import replace

from hosting.core.stores.contract import (
    MOST_POSITION,
    Append,
    Appended,
    AppendOutcome,
    Conflict,
    Row,
    StoredEvent,
    StoredHead,
    ThreadKey,
    Unknown,
    Watchers,
)
from hosting.core.stores.processes import MachineProcesses
from hosting.core.stores.sqlite_file import LEAST_RECLAIMED_BYTES, PAYLOADS, FileKind, drop, empty, keep
from hosting.core.stores.sqlite_writer import StoreFile
from hosting.errors import LogUnavailableError
from hosting.names import Address, agent_of_key, behind_agent, key_prefix

THREADS = FileKind(
    name="threads' log",
    setting="AGENT_LOG",
    schema=f"""{PAYLOADS};
CREATE TABLE head (hub TEXT NOT NULL, address TEXT NOT NULL, position INTEGER NOT NULL, append_id TEXT NOT NULL,
                   payload INTEGER NOT NULL, PRIMARY KEY (hub, address)) WITHOUT ROWID;
CREATE TABLE event (hub TEXT NOT NULL, address TEXT NOT NULL, position INTEGER NOT NULL, append_id TEXT NOT NULL,
                    payload INTEGER NOT NULL, PRIMARY KEY (hub, address, position)) WITHOUT ROWID;
CREATE TABLE named (hub TEXT NOT NULL, address TEXT NOT NULL, name TEXT NOT NULL, position INTEGER NOT NULL,
                    payload INTEGER NOT NULL, PRIMARY KEY (hub, address, name)) WITHOUT ROWID
""",
)
"""`named` has the rows of the contract: "row" means something else in SQL. An erased row has the payload 0."""

_THREAD = "hub = ? AND address = ?"
_HEAD = (
    f"SELECT position, append_id, bytes, append_id FROM head JOIN payload ON payload.id = head.payload WHERE {_THREAD}"
)
_HEADS = (
    "SELECT substr(address, ?), position, append_id, bytes, append_id FROM head "
    "JOIN payload ON payload.id = head.payload WHERE hub = ? AND address > ? AND address < ? ORDER BY address LIMIT ?"
)
_NEXT = "SELECT address FROM head WHERE hub = ? AND address > ? ORDER BY address LIMIT 1"
_POSITION = f"SELECT position FROM head WHERE {_THREAD}"
_EVENTS = (
    "SELECT position, bytes FROM event JOIN payload ON payload.id = event.payload "
    f"WHERE {_THREAD} AND position > ? AND position <= ? ORDER BY position"
)
_APPEND_AT = f"SELECT append_id FROM event WHERE {_THREAD} AND position = ?"
_ROW = (
    "SELECT name, position, coalesce(bytes, x'') FROM named LEFT JOIN payload ON payload.id = named.payload "
    f"WHERE {_THREAD} AND name = ?"
)
_WRITE_HEAD = "INSERT OR REPLACE INTO head VALUES (?, ?, ?, ?, ?)"
_WRITE_EVENT = "INSERT INTO event VALUES (?, ?, ?, ?, ?)"
_WRITE_ROW = "INSERT OR REPLACE INTO named VALUES (?, ?, ?, ?, ?)"
_THROUGH = f"{_THREAD} AND position <= ?"
_EMPTY_ROWS = f"UPDATE named SET payload = 0 WHERE {_THROUGH}"


def write_append(
    connection: sqlite3.Connection, thread: ThreadKey, base: StoredHead | None, append: Append, first: int
) -> Appended | Conflict:
    """Write the append with its first event at `first`, or nothing.

    The transaction holds the write lock, so no other writer comes between the read and the write.
    """
    append_id = append.head.append_id
    new = replace(append.head, tag=append_id)
    head = read_head(connection, thread)
    if head is not None and head.append_id == append_id:
        return Appended(new)
    if (head and head.tag) != (base and base.tag):
        at_first = connection.execute(_APPEND_AT, (*thread, first)).fetchone() if head else None
        return Appended(new) if at_first == (append_id,) else Conflict(head)
    if any(row.is_new and connection.execute(_ROW, (*thread, row.name)).fetchone() for row in append.rows):
        return Conflict(head)
    if head is not None:
        empty(connection, "head", _THREAD, thread)
    connection.execute(_WRITE_HEAD, (*thread, new.position, append_id, keep(connection, new.payload)))
    for position, payload in enumerate(append.events, start=first):
        connection.execute(_WRITE_EVENT, (*thread, position, append_id, keep(connection, payload)))
    for row in append.rows:
        if not row.is_new:
            empty(connection, "named", f"{_THREAD} AND name = ?", (*thread, row.name))
        connection.execute(_WRITE_ROW, (*thread, row.name, row.position, keep(connection, row.payload)))
    return Appended(new)


def read_head(connection: sqlite3.Connection, thread: ThreadKey) -> StoredHead | None:
    """Return the head; its tag is the id of its append, which no other head ever has."""
    row = connection.execute(_HEAD, thread).fetchone()
    return StoredHead(*row) if row else None


def read_position(connection: sqlite3.Connection, thread: ThreadKey) -> int:
    """Return the position of the thread's head, 0 where it has none."""
    row = connection.execute(_POSITION, thread).fetchone()
    return int(row[0]) if row else 0


POLL_SECONDS = 0.02


class ChangePoller:
    """One thread that polls the file's `data_version` while this process has watchers.

    SQLite cannot push to another process. A poll reads a counter in shared memory and no page of the file, however many
    watch; only after a write are the positions of the watched threads read.
    """

    def __init__(self, path: Path, watchers: Watchers) -> None:
        self._path = path
        self._watchers = watchers
        self._changing = threading.Lock()
        self._is_polling = False
        self._hurry = threading.Event()

    def start(self) -> None:
        """Start to poll, unless that runs; the caller has entered a watcher, and polling ends with the last one."""
        with self._changing:
            if not self._is_polling:
                self._is_polling = True
                threading.Thread(target=self._poll, name="watch of threads", daemon=True).start()

    def stop(self) -> None:
        """End the current poll to notice at once that the last watcher has left."""
        self._hurry.set()

    def _poll(self) -> None:
        """Poll until the last watcher has left."""
        last_version = None
        try:
            with contextlib.closing(sqlite3.connect(self._path, isolation_level=None)) as connection:
                while self._is_wanted():
                    version = connection.execute("PRAGMA data_version").fetchone()
                    if version != last_version:
                        for thread in self._watchers.threads():
                            self._watchers.wake(thread, read_position(connection, thread))
                    last_version = version
                    self._hurry.wait(POLL_SECONDS)
                    self._hurry.clear()
        except sqlite3.Error:
            with self._changing:
                self._is_polling = False
            self._watchers.release()  # the watchers read for themselves, and learn the fault

    def _is_wanted(self) -> bool:
        with self._changing:
            self._is_polling = bool(self._watchers.threads())
            return self._is_polling


MOST_BYTES_ON_LOOP = 65_536
"""An append of more is left to the thread: a loop that writes megabytes does nothing else meanwhile."""
BUSY_SECONDS = 5.0
"""How long another process is waited for: a call that fails is made again, and all of it must fit into a lease."""


class SqliteThreadStore:
    """A `ThreadStore` in the file at `path`; the file and its folder are made at the first use."""

    batch_seconds = 0.1

    def __init__(
        self,
        path: Path,
        hub: str,
        synchronous: str = "NORMAL",
        busy_seconds: float = BUSY_SECONDS,
        reclaimed_bytes: int = LEAST_RECLAIMED_BYTES,
    ) -> None:
        self.processes = MachineProcesses(path)
        self._hub = hub
        self._file = StoreFile(
            THREADS, path, LogUnavailableError, synchronous, busy_seconds, reclaimed_bytes=reclaimed_bytes
        )
        self._watchers = Watchers()
        self._poller = ChangePoller(path, self._watchers)

    async def append(self, address: Address, base: StoredHead | None, append: Append) -> AppendOutcome:
        """One step of the file."""
        first = append.first_position(base)
        thread = (self._hub, address.key)
        try:
            outcome = await self._file.do(
                lambda connection: write_append(connection, thread, base, append, first),
                is_small=append.size_bytes <= MOST_BYTES_ON_LOOP,
            )
        except LogUnavailableError:
            return Unknown()
        if isinstance(outcome, Appended):
            self._watchers.wake(thread, outcome.head.position)
        return outcome

    async def head(self, address: Address) -> StoredHead | None:
        thread = (self._hub, address.key)
        return await self._file.read(lambda connection: read_head(connection, thread))

    async def heads(self, agent: str, owner: str, after: str, limit: int) -> list[tuple[str, StoredHead]]:
        """One range of the primary key."""
        prefix = key_prefix(agent, owner)
        values = (len(prefix) + 1, self._hub, prefix + after, f"{prefix[:-1]}{chr(ord(prefix[-1]) + 1)}", limit)
        rows = await self._file.do(lambda connection: connection.execute(_HEADS, values).fetchall())
        return [(thread_id, StoredHead(*head)) for thread_id, *head in rows]

    async def agents(self) -> list[str]:
        """A seek of the primary key for each."""

        def found(connection: sqlite3.Connection) -> list[str]:
            names, after = list[str](), ""
            while (row := connection.execute(_NEXT, (self._hub, after)).fetchone()) is not None:
                names.append(agent_of_key(row[0]))
                after = behind_agent(names[-1])
            return names

        return sorted(await self._file.do(found))

    async def events(self, address: Address, after: int, through: int = MOST_POSITION) -> list[StoredEvent]:
        values = (self._hub, address.key, after, through)
        rows = await self._file.do(lambda connection: connection.execute(_EVENTS, values).fetchall())
        return [StoredEvent(*row) for row in rows]

    async def row(self, address: Address, name: str) -> Row | None:
        values = (self._hub, address.key, name)
        row = await self._file.read(lambda connection: connection.execute(_ROW, values).fetchone())
        return Row(*row) if row else None

    async def trim(self, address: Address, before: int, rows_before: int) -> None:
        """One transaction. The write-ahead log is emptied now if possible, else by a later call."""
        thread = (self._hub, address.key)

        def trimmed(connection: sqlite3.Connection) -> None:
            drop(connection, "event", _THROUGH, (*thread, before))
            drop(connection, "named", _THROUGH, (*thread, rows_before))

        await self._file.drop_and_shrink(trimmed)
        await self._file.try_to_scrub()

    async def erase(self, address: Address, through: int) -> None:
        """Overwrite erased data, then empty the write-ahead log, which still has it.

        Raises `LogUnavailableError` also where a reader kept it from being emptied: the events are gone by then, and
        their bytes go with the next call.
        """
        values = (self._hub, address.key, through)

        def erased(connection: sqlite3.Connection) -> None:
            drop(connection, "event", _THROUGH, values)
            empty(connection, "named", _THROUGH, values)
            connection.execute(_EMPTY_ROWS, values)

        await self._file.erase(erased)

    async def forget(self, address: Address, base: StoredHead) -> bool:
        """One transaction, and then as `erase`."""
        thread = (self._hub, address.key)

        def forgotten(connection: sqlite3.Connection) -> bool:
            head = read_head(connection, thread)
            if head is None or head.tag != base.tag:
                return False
            for table in ("head", "event", "named"):
                drop(connection, table, _THREAD, thread)
            return True

        return await self._file.erase(forgotten)

    async def scrub(self) -> None:
        """Empty the write-ahead log."""
        await self._file.scrub()

    async def watch(self, address: Address, after: int, seconds: float) -> bool:
        """An append of this store wakes at once, any other with the next poll of the file."""
        thread = (self._hub, address.key)
        with self._watchers.watching(thread, after) as watcher:
            if await self._file.read(lambda connection: read_position(connection, thread)) > after:
                return True
            self._poller.start()
            return await watcher.woken_within(seconds)

    async def close(self) -> None:
        self._watchers.release()
        self._poller.stop()
        await self._file.close()
        self.processes.close()
