"""The SQLite file's tables and their version."""

from __future__ import annotations

import sqlite3

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
)
VERSION = len(_UPGRADES)


def upgrade(connection: sqlite3.Connection, file_name: str) -> None:
    """Bring the file to this version, each step in one transaction.

    Raises `StoreVersionError` for a file of a newer host, `StoreUnreadableError` for one that is no such file.
    """
    found = _version(connection, file_name)
    if found > VERSION:
        raise StoreVersionError(
            f"{file_name} has version {found}, and this local host knows versions up to {VERSION}. "
            "Use the newer host, or run `python -m devhost reset` to start with nothing."
        )
    for number in range(found, VERSION):
        connection.executescript(f"BEGIN; {_UPGRADES[number]} PRAGMA user_version = {number + 1}; COMMIT;")


def check(connection: sqlite3.Connection, file_name: str) -> None:
    """Return if the file has this version; raises `StoreVersionError` or `StoreUnreadableError` like `upgrade`."""
    found = _version(connection, file_name)
    if found != VERSION:
        raise StoreVersionError(
            f"{file_name} has version {found}, and this local host reads version {VERSION}. "
            "Start a host of this version in the folder once, or use the one that wrote it."
        )


def _version(connection: sqlite3.Connection, file_name: str) -> int:
    try:
        (found,) = connection.execute("PRAGMA user_version").fetchone()
    except sqlite3.OperationalError:
        # Busy or not to be opened: that says nothing about what the file is.
        raise
    except sqlite3.DatabaseError as error:
        raise StoreUnreadableError(
            f"{file_name} is not the local host's file or is damaged ({error}). "
            "Move it away, or run `python -m devhost reset` to start with nothing."
        ) from error
    return int(found)
