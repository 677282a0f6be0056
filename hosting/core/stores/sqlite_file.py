"""A store's SQLite file: how it is created, opened and refused, and how deleted data leaves it.

SQLite's `secure_delete` overwrites deleted records, but not the copy that stays behind when a record moves to another
page. So payloads have a table of their own, where none ever moves: each is inserted at the end, and is emptied where it
stands instead of being deleted. Other tables refer to payloads by id, in a column `payload`. `reclaim` gives the space
back.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import re
import sqlite3
import time
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from hosting.core.stores.connection import cause_of
from hosting.errors import ConfigurationError
from hosting.settings import is_hosted

logger = logging.getLogger(__name__)

BUSY_SECONDS = 30.0
_PROBE_SECONDS = 1.0
_FOLDER_MODE = 0o700
_TABLE = re.compile(r"CREATE TABLE (\w+)")
_CHECKED_BYTES = 8 * 1024 * 1024
_WAL_RETRY_SECONDS = 0.01
_WHOSE = """SELECT user_version, (SELECT group_concat(name, ' ') FROM sqlite_master WHERE type = 'table')
            FROM pragma_user_version"""
"""One statement, so that a file which another process makes in this moment is seen before or after that."""


class FileKind(Struct, frozen=True):
    """A kind of file: its name in sentences, the setting that names the file, the statements of its first version
    and those that make each later one of the one before."""

    name: str
    setting: str
    schema: str
    upgrades: tuple[str, ...] = ()

    @property
    def version(self) -> int:
        """The version that this app reads and writes; a file that is not there has version 0."""
        return 1 + len(self.upgrades)

    def connect(self, path: Path, synchronous: str, busy_seconds: float = BUSY_SECONDS) -> sqlite3.Connection:
        """Return a connection to the file at `path`, making it; raises `ConfigurationError` for the file of another.

        That is a file of a newer version, or of another program: neither is changed. A folder that is made for the file
        is closed to other users of the machine, because conversations do not concern them.
        """
        path.parent.mkdir(mode=_FOLDER_MODE, parents=True, exist_ok=True)
        connection = sqlite3.connect(path, timeout=busy_seconds, isolation_level=None, check_same_thread=False)
        try:
            self._refuse_other(connection, path)
            _use_wal(connection, busy_seconds)
            connection.execute(f"PRAGMA synchronous={synchronous}")
            connection.execute("PRAGMA secure_delete=ON")
            connection.execute("BEGIN IMMEDIATE")
            self._make(connection, path)
            connection.execute("COMMIT")
        except BaseException:
            connection.close()
            raise
        return connection

    def refuse_unusable(self, path: Path, synchronous: str, environ: Mapping[str, str]) -> None:
        """Raise `ConfigurationError` when the file at `path` cannot be used: it is opened, and made if need be.

        Where no host runs the app nothing is made, and of a file that is there only its owner is read. A file that
        another process holds just now is there, and is good.
        """
        try:
            if is_hosted(environ):
                with contextlib.closing(self.connect(path, synchronous, _PROBE_SECONDS)) as connection:
                    _refuse_damaged(connection, path)
            elif path.is_file():
                address = f"{path.resolve().as_uri()}?mode=ro"
                with contextlib.closing(sqlite3.connect(address, uri=True, timeout=0)) as connection:
                    self._refuse_other(connection, path)
        except (sqlite3.Error, OSError) as error:
            if "locked" not in str(error):
                raise ConfigurationError(
                    f"The {self.name} {path} cannot be opened: {cause_of(error)} Set {self.setting} to sqlite:PATH "
                    "with a file that the app may write, or repair the file."
                ) from None

    def forget_overwritten(self, path: Path, busy_seconds: float) -> bool:
        """Empty the write-ahead log, which keeps the pages as they were before something was deleted from them.

        False where another connection was in the way for so long: later commits write over it in their own time.
        """
        end = time.monotonic() + busy_seconds
        with contextlib.closing(sqlite3.connect(path, timeout=busy_seconds, isolation_level=None)) as connection:
            while is_busy := connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]:
                if time.monotonic() >= end:
                    break
                time.sleep(_WAL_RETRY_SECONDS)  # another one's emptying is refused at once, without the time-out
        return not is_busy

    def _make(self, connection: sqlite3.Connection, path: Path) -> None:
        version = self._refuse_other(connection, path)
        connection.create_function("sha256", 1, lambda text: hashlib.sha256(text.encode()).hexdigest())
        for statements in (self.schema, *self.upgrades)[version:]:
            for statement in statements.split(";"):
                connection.execute(statement)
        connection.execute(f"PRAGMA user_version={self.version}")

    def _refuse_other(self, connection: sqlite3.Connection, path: Path) -> int:
        """Return the file's version; raises `ConfigurationError` for a newer one, or another kind."""
        version, names = connection.execute(_WHOSE).fetchone()
        tables = set((names or "").split())
        if not set(_TABLE.findall(self.schema)) <= tables if version else tables:
            raise ConfigurationError(
                f"{path} is a database of another program, not the {self.name}. Set {self.setting} to another file."
            )
        if version > self.version:
            raise ConfigurationError(
                f"The {self.name} {path} has version {version}; this app reads up to {self.version}. "
                f"Run the version that wrote it, or set {self.setting} to another file."
            )
        return int(version)


def _refuse_damaged(connection: sqlite3.Connection, path: Path) -> None:
    """Raise SQLite's complaints about a small file; the check of a large one would take too long."""
    if path.stat().st_size <= _CHECKED_BYTES:
        report = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
        if report != "ok":
            raise sqlite3.DatabaseError(f"it is damaged ({' '.join(report.replace('*', '').split())})")


def _use_wal(connection: sqlite3.Connection, busy_seconds: float) -> None:
    """Two processes that make the file at once meet here, and SQLite's busy time-out does not cover this switch."""
    end = time.monotonic() + busy_seconds
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error):
                raise
        if time.monotonic() >= end:
            return
        time.sleep(_WAL_RETRY_SECONDS)


PAYLOADS = """
CREATE TABLE payload (id INTEGER PRIMARY KEY, bytes BLOB);
CREATE TABLE space (looked_at_pages INTEGER NOT NULL);
INSERT INTO space VALUES (0)
"""
"""The statements that make the tables of this module in a file."""

_NEVER_CHECKED = -1_000_000_000_000
WRITE_ANEW = f"UPDATE space SET looked_at_pages = {_NEVER_CHECKED}"
"""Has the next step that makes room write the file anew, by which pages that are free are gone."""

LEAST_RECLAIMED_BYTES = 64 * 1024 * 1024
Values = tuple[str | int | float, ...]
_KEEP = "INSERT INTO payload (bytes) VALUES (?)"
_USED = "(SELECT page_count - freelist_count FROM pragma_page_count, pragma_freelist_count)"
IS_RECLAIM_DUE = f"SELECT {_USED} > 2 * looked_at_pages + ? / page_size FROM space, pragma_page_size"
"""Is the file twice as large as when it was last checked, and larger by as many bytes as the parameter has?"""

_IS_WORTH_IT = "SELECT looked_at_pages < 0 OR (SELECT 2 * count(bytes) <= count(*) FROM payload) FROM space"
BEGIN_RECLAIM = f"""
PRAGMA secure_delete=ON;
BEGIN IMMEDIATE;
{WRITE_ANEW};
DELETE FROM payload WHERE bytes IS NULL;
COMMIT
"""
_CHECKED = f"UPDATE space SET looked_at_pages = {_USED}"


def keep(connection: sqlite3.Connection, payload: bytes) -> int:
    """Return the id of the payload, at the end of its table."""
    return connection.execute(_KEEP, (payload,)).lastrowid or 0


def empty(connection: sqlite3.Connection, table: str, which: str, values: Values) -> None:
    """Empty the payloads of those rows of a table for which the condition holds."""
    connection.execute(
        f"UPDATE payload SET bytes = NULL WHERE id IN (SELECT payload FROM {table} WHERE {which})", values
    )


def drop(connection: sqlite3.Connection, table: str, which: str, values: Values) -> None:
    """Remove those rows, and empty their payloads."""
    empty(connection, table, which, values)
    connection.execute(f"DELETE FROM {table} WHERE {which}", values)


def reclaim(path: Path, busy_seconds: float) -> None:
    """Write the file anew without emptied payloads, if they are half of all; other writers wait meanwhile.

    To delete the empty payloads moves what stands next to them, and the copies that this leaves are gone when the file
    was written anew. Until then it is due, so that a process that dies between the two has left that to the next one.
    A failure is left to the next time, too.
    """
    try:
        with contextlib.closing(sqlite3.connect(path, timeout=busy_seconds, isolation_level=None)) as connection:
            if connection.execute(_IS_WORTH_IT).fetchone()[0]:
                connection.executescript(BEGIN_RECLAIM)
                connection.execute("VACUUM")
            connection.execute(_CHECKED)
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    except sqlite3.Error as error:
        logger.warning("The space of deleted data in %s is not freed yet: %s", path, error)
