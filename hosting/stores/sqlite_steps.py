"""What the SQLite store of threads does within one transaction, and the tables that it does it in.

Payloads are kept apart and are never moved. SQLite's `secure_delete` writes over what is deleted, and not over the copy
that stays behind on a page when a record was moved to another one: pieces of what was erased would be in the file. So
each payload is inserted at the end of its table, where nothing is moved, and is emptied where it stands and not
deleted, by which nothing is moved either. `sqlite_space` gives the space back.
"""

from __future__ import annotations

import sqlite3
from dataclasses import replace

from hosting.storage.sqlite_file import FileKind
from hosting.stores.contract import Append, Appended, Conflict, Row, StoredEvent, StoredHead
from hosting.stores.watchers import ThreadKey

THREADS = FileKind(
    name="threads' log",
    setting="AGENT_LOG",
    schema="""
CREATE TABLE payload (id INTEGER PRIMARY KEY, bytes BLOB);
CREATE TABLE head (hub TEXT NOT NULL, address TEXT NOT NULL, position INTEGER NOT NULL, append_id TEXT NOT NULL,
                   payload INTEGER NOT NULL, PRIMARY KEY (hub, address)) WITHOUT ROWID;
CREATE TABLE event (hub TEXT NOT NULL, address TEXT NOT NULL, position INTEGER NOT NULL, append_id TEXT NOT NULL,
                    payload INTEGER NOT NULL, PRIMARY KEY (hub, address, position)) WITHOUT ROWID;
CREATE TABLE named (hub TEXT NOT NULL, address TEXT NOT NULL, name TEXT NOT NULL, position INTEGER NOT NULL,
                    payload INTEGER NOT NULL, PRIMARY KEY (hub, address, name)) WITHOUT ROWID;
CREATE TABLE space (looked_at_pages INTEGER NOT NULL);
INSERT INTO space VALUES (0)
""",
)
"""`named` has the rows of the contract, of whose name SQL makes another use; one that was erased has the payload 0."""

_THREAD = "hub = ? AND address = ?"
_HEAD = (
    f"SELECT position, append_id, bytes, append_id FROM head JOIN payload ON payload.id = head.payload WHERE {_THREAD}"
)
_POSITION = f"SELECT position FROM head WHERE {_THREAD}"
_EVENTS = (
    "SELECT position, bytes FROM event JOIN payload ON payload.id = event.payload "
    f"WHERE {_THREAD} AND position > ? ORDER BY position"
)
_APPEND_AT = f"SELECT append_id FROM event WHERE {_THREAD} AND position = ?"
_ROW = (
    "SELECT name, position, coalesce(bytes, x'') FROM named LEFT JOIN payload ON payload.id = named.payload "
    f"WHERE {_THREAD} AND name = ?"
)
_KEEP = "INSERT INTO payload (bytes) VALUES (?)"
_WRITE_HEAD = "INSERT OR REPLACE INTO head VALUES (?, ?, ?, ?, ?)"
_WRITE_EVENT = "INSERT INTO event VALUES (?, ?, ?, ?, ?)"
_WRITE_ROW = "INSERT OR REPLACE INTO named VALUES (?, ?, ?, ?, ?)"
_THROUGH = f"{_THREAD} AND position <= ?"
_EMPTY_ROWS = f"UPDATE named SET payload = 0 WHERE {_THROUGH}"


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
    _empty(connection, "head", _THREAD, thread)
    connection.execute(_WRITE_HEAD, (*thread, new.position, new.append_id, _kept(connection, new.payload)))
    for position, payload in enumerate(append.events, start=first):
        connection.execute(_WRITE_EVENT, (*thread, position, new.append_id, _kept(connection, payload)))
    for row in append.rows:
        _empty(connection, "named", f"{_THREAD} AND name = ?", (*thread, row.name))
        connection.execute(_WRITE_ROW, (*thread, row.name, row.position, _kept(connection, row.payload)))
    return Appended(new)


def _has_counted(
    connection: sqlite3.Connection, thread: ThreadKey, head: StoredHead | None, first: int, append: Append
) -> bool:
    if head is None or head.append_id == append.head.append_id:
        return head is not None
    at_first = connection.execute(_APPEND_AT, (*thread, first)).fetchone() if head.position >= first else None
    return at_first is not None and bool(at_first[0] == append.head.append_id)


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
    _drop(connection, "event", _THROUGH, (*thread, before))
    _drop(connection, "named", _THROUGH, (*thread, rows_before))


def empty_through(connection: sqlite3.Connection, thread: ThreadKey, through: int) -> None:
    """See `ThreadStore.erase`: what is emptied here is overwritten in the file, and still in the write-ahead log."""
    _drop(connection, "event", _THROUGH, (*thread, through))
    _empty(connection, "named", _THROUGH, (*thread, through))
    connection.execute(_EMPTY_ROWS, (*thread, through))


def drop_thread(connection: sqlite3.Connection, thread: ThreadKey, known: StoredHead) -> bool:
    """See `ThreadStore.forget`."""
    head = read_head(connection, thread)
    is_known = head is not None and head.tag == known.tag
    if is_known:
        for table in ("head", "event", "named"):
            _drop(connection, table, _THREAD, thread)
    return is_known


def _kept(connection: sqlite3.Connection, payload: bytes) -> int:
    """Return the id of the payload, at the end of its table."""
    return connection.execute(_KEEP, (payload,)).lastrowid or 0


def _empty(connection: sqlite3.Connection, table: str, which: str, values: tuple[str | int, ...]) -> None:
    connection.execute(
        f"UPDATE payload SET bytes = NULL WHERE id IN (SELECT payload FROM {table} WHERE {which})", values
    )


def _drop(connection: sqlite3.Connection, table: str, which: str, values: tuple[str | int, ...]) -> None:
    _empty(connection, table, which, values)
    connection.execute(f"DELETE FROM {table} WHERE {which}", values)
