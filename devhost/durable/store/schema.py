"""The SQLite file's tables and their version."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from devhost.durable.errors import StoreUnreadableError, StoreVersionError

# Entry n brings a file of version n to version n + 1. Entries are never changed once released, only added.
_UPGRADES = (
    """
    CREATE TABLE orchestrations (
        instance_id TEXT PRIMARY KEY, name TEXT NOT NULL, execution_id TEXT NOT NULL, status TEXT NOT NULL,
        input TEXT, output TEXT, custom_status TEXT, parent TEXT, is_continued INTEGER NOT NULL,
        created_at TEXT NOT NULL, updated_at TEXT NOT NULL
    ) WITHOUT ROWID;
    CREATE TABLE history (
        instance_id TEXT NOT NULL, position INTEGER NOT NULL, event TEXT NOT NULL, PRIMARY KEY (instance_id, position)
    ) WITHOUT ROWID;
    CREATE TABLE entities (
        entity_id TEXT PRIMARY KEY, is_there INTEGER NOT NULL, state TEXT, updated_at TEXT NOT NULL
    );
    CREATE TABLE messages (
        seq INTEGER PRIMARY KEY, kind TEXT NOT NULL, target TEXT NOT NULL, due TEXT, body TEXT NOT NULL
    );
    CREATE INDEX messages_by_target ON messages (kind, target);
    """,
    # Several processes: seqs are the file's and never used twice, and records say which step wrote them. A message with
    # `is_asked` has a sender who waits for its outcome: the start of an execution, an operation that is called.
    """
    ALTER TABLE orchestrations ADD COLUMN etag TEXT NOT NULL DEFAULT '';
    ALTER TABLE entities ADD COLUMN etag TEXT NOT NULL DEFAULT '';
    ALTER TABLE messages RENAME TO messages_before;
    DROP INDEX messages_by_target;
    CREATE TABLE messages (
        seq INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT NOT NULL, target TEXT NOT NULL, execution_id TEXT,
        is_asked INTEGER NOT NULL, sent TEXT NOT NULL, due TEXT, body TEXT NOT NULL
    );
    INSERT INTO messages
        SELECT seq, kind, target, json_extract(body, '$.execution_id'),
            coalesce(json_extract(body, '$.event.EventType') = 0, 0)
            OR json_extract(body, '$.caller_id') IS NOT NULL AND kind = 'entity',
            '', due, body
        FROM messages_before;
    DROP TABLE messages_before;
    CREATE INDEX messages_by_target ON messages (kind, target, due);
    """,
)
VERSION = len(_UPGRADES)


def upgrade(connection: sqlite3.Connection, path: Path) -> None:
    """Bring the file to this version, each step in one transaction; other processes may try the same meanwhile.

    Raises `StoreVersionError` for a file of a newer host, `StoreUnreadableError` for one that is no such file.
    """
    while (found := _version(connection, path)) != VERSION:
        if found > VERSION:
            raise StoreVersionError(
                f"{path} has version {found}, and this local host knows versions up to {VERSION}. "
                "Use the newer host, or run `python -m devhost reset` to start with nothing."
            )
        connection.execute("BEGIN IMMEDIATE")
        # Looked at again now that nobody else can write: another process may have been first.
        if _version(connection, path) == found:
            for statement in _UPGRADES[found].split(";"):
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {found + 1}")
        connection.execute("COMMIT")


def check(connection: sqlite3.Connection, path: Path) -> None:
    """Return if the file has this version; raises `StoreVersionError` or `StoreUnreadableError` like `upgrade`."""
    found = _version(connection, path)
    if found != VERSION:
        raise StoreVersionError(
            f"{path} has version {found}, and this local host reads version {VERSION}. "
            "Start a host of this version in the folder once, or use the one that wrote it."
        )


def _version(connection: sqlite3.Connection, path: Path) -> int:
    try:
        (found,) = connection.execute("PRAGMA user_version").fetchone()
    except sqlite3.OperationalError:
        # Busy or not to be opened: that says nothing about what the file is.
        raise
    except sqlite3.DatabaseError as error:
        raise StoreUnreadableError(path, error) from error
    return int(found)
