"""Objects in a SQLite file, for the archive one and for attachments another: the default on one machine."""

from __future__ import annotations

import json
import math
import sqlite3
import time
from collections.abc import Collection, Mapping
from typing import Final

from hosting.core.stores.sqlite_file import PAYLOADS, WRITE_ANEW, FileKind, drop, empty, keep
from hosting.core.stores.sqlite_writer import StoreFile
from hosting.names import StoreKey
from hosting.ports import Clock

_OBJECTS: Final = """
CREATE TABLE object (agent TEXT NOT NULL, thread_id TEXT NOT NULL, name TEXT NOT NULL, payload INTEGER NOT NULL,
                     put_at REAL NOT NULL, PRIMARY KEY (agent, thread_id, name))
"""
ARCHIVE: Final = FileKind(
    name="archive",
    setting="AGENT_ARCHIVE",
    schema="""
CREATE TABLE segment (number INTEGER PRIMARY KEY, agent TEXT NOT NULL, thread_id TEXT NOT NULL,
                      generation INTEGER NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL, body BLOB NOT NULL);
CREATE UNIQUE INDEX segment_by_position ON segment (agent, thread_id, generation, first, last)
""",
    upgrades=(
        f"""{PAYLOADS};
INSERT INTO payload SELECT number, body FROM segment;
ALTER TABLE segment RENAME COLUMN body TO payload;
UPDATE segment SET payload = number;
{WRITE_ANEW}
""",
        f"""{_OBJECTS};
INSERT INTO object SELECT agent, thread_id, printf('%d-%06d-%09d-%09d', generation, first / 1000, first, last), payload,
                          number / 1000000.0 FROM segment ORDER BY number;
DELETE FROM segment
""",
    ),
)
ATTACHMENTS: Final = FileKind(
    name="file of attachments",
    setting="AGENT_ATTACHMENTS",
    schema="""
CREATE TABLE attachment (agent TEXT NOT NULL, thread_id TEXT NOT NULL, sha256 TEXT NOT NULL, body BLOB NOT NULL,
                         PRIMARY KEY (agent, thread_id, sha256))
""",
    upgrades=(
        f"""{PAYLOADS};
INSERT INTO payload SELECT rowid, body FROM attachment;
ALTER TABLE attachment RENAME COLUMN body TO payload;
UPDATE attachment SET payload = rowid;
{WRITE_ANEW}
""",
        """
ALTER TABLE attachment ADD COLUMN put_at REAL NOT NULL DEFAULT 0;
UPDATE attachment SET put_at = strftime('%s', 'now')
""",
        f"""{_OBJECTS};
INSERT INTO object SELECT agent, thread_id, sha256, payload, put_at FROM attachment;
DELETE FROM attachment
""",
    ),
)
_OF_PREFIX = "agent = ? AND thread_id = ?"
_THESE = f"{_OF_PREFIX} AND name IN (SELECT value FROM json_each(?))"
_PUT = "INSERT OR REPLACE INTO object (agent, thread_id, name, payload, put_at) VALUES (?, ?, ?, ?, ?)"
_PUT_AGAIN = (
    f"UPDATE object SET put_at = ? WHERE {_OF_PREFIX} AND name = ? "
    "AND (SELECT bytes FROM payload WHERE id = object.payload) = ?"
)
_READ = f"SELECT name, bytes FROM object JOIN payload ON payload.id = object.payload WHERE {_THESE}"
_NAMES = f"SELECT name, put_at FROM object WHERE {_OF_PREFIX} AND substr(name, 1, ?) = ? ORDER BY put_at, rowid"
_PUT_BETWEEN = (
    "SELECT min(put_at), thread_id FROM object WHERE agent = ? AND put_at >= ? AND put_at < ? "
    "GROUP BY thread_id ORDER BY 1"
)
_EPOCHS = "SELECT DISTINCT thread_id FROM object WHERE agent = ? AND thread_id >= ? AND thread_id < ?"


class SqliteObjects:
    """An `ObjectStore` in a file of the kind `ARCHIVE` or `ATTACHMENTS`."""

    def __init__(self, file: StoreFile, clock: Clock = time.time) -> None:
        self._file = file
        self._clock = clock

    async def put(self, store_key: StoreKey, objects: Mapping[str, bytes]) -> None:
        """One transaction. Bytes that are there already are not written again."""

        def put(connection: sqlite3.Connection) -> None:
            now = self._clock()
            for name, body in objects.items():
                key = (store_key.space, store_key.name, name)
                if connection.execute(_PUT_AGAIN, (now, *key, body)).rowcount == 0:
                    empty(connection, "object", f"{_OF_PREFIX} AND name = ?", key)
                    connection.execute(_PUT, (*key, keep(connection, body), now))

        await self._file.do(put)

    async def read(self, store_key: StoreKey, names: Collection[str]) -> dict[str, bytes]:
        values = (store_key.space, store_key.name, json.dumps(list(names)))
        return dict(await self._file.do(lambda connection: connection.execute(_READ, values).fetchall()))

    async def names(self, store_key: StoreKey, prefix: str = "") -> dict[str, float]:
        values = (store_key.space, store_key.name, len(prefix), prefix)
        return dict(await self._file.do(lambda connection: connection.execute(_NAMES, values).fetchall()))

    async def put_between(self, space: str, after: float, before: float) -> list[tuple[float, str]]:
        values = (space, after, before)
        return await self._file.do(lambda connection: connection.execute(_PUT_BETWEEN, values).fetchall())

    async def epochs(self, thread: StoreKey) -> list[int]:
        values = (thread.space, f"{thread.name}/", f"{thread.name}0")
        rows = await self._file.do(lambda connection: connection.execute(_EPOCHS, values).fetchall())
        return thread.epochs_in(name for (name,) in rows)

    async def erase(
        self, store_key: StoreKey, names: Collection[str] | None = None, *, before: float = math.inf
    ) -> None:
        """They are gone, too, where this raises because a reader was in the way."""
        selection = () if names is None else (json.dumps(list(names)),)
        which = f"{_THESE if selection else _OF_PREFIX} AND put_at < ?"
        values = (store_key.space, store_key.name, *selection, before)
        await self._file.erase(lambda connection: drop(connection, "object", which, values))

    async def close(self) -> None:
        await self._file.close()
