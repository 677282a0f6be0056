"""What the SQLite store of threads does within one transaction, and the tables that it does it in."""

from __future__ import annotations

import sqlite3
from dataclasses import replace

from hosting.storage.sqlite_file import FileKind
from hosting.stores.contract import Append, Appended, Conflict, Row, StoredEvent, StoredHead
from hosting.stores.watchers import ThreadKey

THREADS = FileKind(
    name="store of threads",
    setting="AGENT_RUN_LOG",
    schema="""
CREATE TABLE head (hub TEXT NOT NULL, address TEXT NOT NULL, position INTEGER NOT NULL, append_id TEXT NOT NULL,
                   payload BLOB NOT NULL, PRIMARY KEY (hub, address)) WITHOUT ROWID;
CREATE TABLE event (hub TEXT NOT NULL, address TEXT NOT NULL, position INTEGER NOT NULL, append_id TEXT NOT NULL,
                    payload BLOB NOT NULL, PRIMARY KEY (hub, address, position)) WITHOUT ROWID;
CREATE TABLE named (hub TEXT NOT NULL, address TEXT NOT NULL, name TEXT NOT NULL, position INTEGER NOT NULL,
                    payload BLOB NOT NULL, PRIMARY KEY (hub, address, name)) WITHOUT ROWID
""",
)
"""`named` has the rows of the contract, of whose name SQL makes another use."""

_THREAD = "hub = ? AND address = ?"
_HEAD = f"SELECT position, append_id, payload, append_id FROM head WHERE {_THREAD}"
_POSITION = f"SELECT position FROM head WHERE {_THREAD}"
_EVENTS = f"SELECT position, payload FROM event WHERE {_THREAD} AND position > ? ORDER BY position"
_APPEND_AT = f"SELECT append_id FROM event WHERE {_THREAD} AND position = ?"
_ROW = f"SELECT name, position, payload FROM named WHERE {_THREAD} AND name = ?"
_WRITE_HEAD = "INSERT OR REPLACE INTO head VALUES (?, ?, ?, ?, ?)"
_WRITE_EVENT = "INSERT INTO event VALUES (?, ?, ?, ?, ?)"
_WRITE_ROW = "INSERT OR REPLACE INTO named VALUES (?, ?, ?, ?, ?)"
_DROP_EVENTS = f"DELETE FROM event WHERE {_THREAD} AND position <= ?"
_DROP_ROWS = f"DELETE FROM named WHERE {_THREAD} AND position <= ?"
_EMPTY_ROWS = f"UPDATE named SET payload = x'' WHERE {_THREAD} AND position <= ? AND payload <> x''"
_FORGET = tuple(f"DELETE FROM {table} WHERE {_THREAD}" for table in ("head", "event", "named"))


def write_append(
    connection: sqlite3.Connection, thread: ThreadKey, known: StoredHead | None, append: Append
) -> Appended | Conflict:
    """See `ThreadStore.append`: the transaction holds the write lock, so nobody comes between look and write."""
    first = append.first_position(known)
    new = replace(append.head, tag=append.head.append_id)
    head = read_head(connection, thread)
    if _has_counted(connection, thread, head, first, append):
        return Appended(new)
    if (head and head.tag) != (known and known.tag) or _has_new_row(connection, thread, append):
        return Conflict(head)
    connection.execute(_WRITE_HEAD, (*thread, new.position, new.append_id, new.payload))
    events = enumerate(append.events, start=first)
    connection.executemany(_WRITE_EVENT, ((*thread, position, new.append_id, payload) for position, payload in events))
    connection.executemany(_WRITE_ROW, ((*thread, row.name, row.position, row.payload) for row in append.rows))
    return Appended(new)


def _has_counted(
    connection: sqlite3.Connection, thread: ThreadKey, head: StoredHead | None, first: int, append: Append
) -> bool:
    if head is None or head.position < first - 1:
        return False
    if head.append_id == append.head.append_id:
        return True
    if not append.events or head.position < first:
        return False
    return bool(connection.execute(_APPEND_AT, (*thread, first)).fetchone() == (append.head.append_id,))


def _has_new_row(connection: sqlite3.Connection, thread: ThreadKey, append: Append) -> bool:
    return any(row.is_new and read_row(connection, thread, row.name) is not None for row in append.rows)


def read_head(connection: sqlite3.Connection, thread: ThreadKey) -> StoredHead | None:
    """See `ThreadStore.head`; the tag is the id of its append, which no other head ever has."""
    found = connection.execute(_HEAD, thread).fetchone()
    return StoredHead(*found) if found else None


def read_position(connection: sqlite3.Connection, thread: ThreadKey) -> int:
    """Return the position of the thread's head, 0 where it has none."""
    found = connection.execute(_POSITION, thread).fetchone()
    return int(found[0]) if found else 0


def read_events(connection: sqlite3.Connection, thread: ThreadKey, after: int) -> list[StoredEvent]:
    """See `ThreadStore.events`."""
    return [StoredEvent(*found) for found in connection.execute(_EVENTS, (*thread, after))]


def read_row(connection: sqlite3.Connection, thread: ThreadKey, name: str) -> Row | None:
    """See `ThreadStore.row`."""
    found = connection.execute(_ROW, (*thread, name)).fetchone()
    return Row(*found) if found else None


def drop_before(connection: sqlite3.Connection, thread: ThreadKey, before: int, rows_before: int) -> None:
    """See `ThreadStore.trim`."""
    connection.execute(_DROP_EVENTS, (*thread, before))
    connection.execute(_DROP_ROWS, (*thread, rows_before))


def empty_through(connection: sqlite3.Connection, thread: ThreadKey, through: int) -> None:
    """See `ThreadStore.erase`: what is deleted here is overwritten in the file, and still in the write-ahead log."""
    connection.execute(_DROP_EVENTS, (*thread, through))
    connection.execute(_EMPTY_ROWS, (*thread, through))


def drop_thread(connection: sqlite3.Connection, thread: ThreadKey, known: StoredHead) -> bool:
    """See `ThreadStore.forget`."""
    head = read_head(connection, thread)
    is_known = head is not None and head.tag == known.tag
    if is_known:
        for statement in _FORGET:
            connection.execute(statement, thread)
    return is_known
