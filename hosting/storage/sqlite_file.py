"""A store's SQLite file: how it is opened, made, refused, and rid of what was deleted."""

from __future__ import annotations

import contextlib
import hashlib
import logging
import re
import sqlite3
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from hosting.errors import ConfigurationError
from hosting.storage.outage import cause_of
from hosting.surroundings import is_hosted

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


@dataclass(frozen=True)
class FileKind:
    """What a file holds: its name in sentences, the setting that names the file, the statements of its first version
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

        That is one that a newer version wrote, and one of some other program: neither is changed. A folder that is made
        for the file is closed to other users of the machine, whom conversations do not concern.
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

        Where no host runs the app nothing is made, and a file that is there is only asked whose it is. A file that
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
                    "with a file that the app may write, or put right what is there."
                ) from None

    def forget_overwritten(self, path: Path, busy_seconds: float) -> bool:
        """Empty the write-ahead log, which keeps the pages as they were before something was deleted from them.

        False where somebody was in the way for so long: later commits write over it in their own time, and the log
        says so.
        """
        with contextlib.closing(sqlite3.connect(path, timeout=busy_seconds, isolation_level=None)) as connection:
            is_busy, _, _ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        if is_busy:
            logger.warning("The %s is in use; what was deleted is overwritten with its next commits.", self.name)
        return not is_busy

    def _make(self, connection: sqlite3.Connection, path: Path) -> None:
        version = self._refuse_other(connection, path)
        connection.create_function("sha256", 1, lambda text: hashlib.sha256(text.encode()).hexdigest())
        for statements in (self.schema, *self.upgrades)[version:]:
            for statement in statements.split(";"):
                connection.execute(statement)
        connection.execute(f"PRAGMA user_version={self.version}")

    def _refuse_other(self, connection: sqlite3.Connection, path: Path) -> int:
        """Return the file's version; raises `ConfigurationError` for one that is newer, or not of this kind."""
        version, named = connection.execute(_WHOSE).fetchone()
        tables = set((named or "").split())
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
    """Raise what SQLite finds wrong with a file that is read in some milliseconds; a large one is not held up."""
    if path.stat().st_size <= _CHECKED_BYTES:
        found = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
        if found != "ok":
            raise sqlite3.DatabaseError(f"it is damaged ({' '.join(found.replace('*', '').split())})")


def _use_wal(connection: sqlite3.Connection, busy_seconds: float) -> None:
    """Two processes that make the file at once meet here, and SQLite's busy time-out does not cover this switch."""
    end = time.monotonic() + busy_seconds
    while not _switched_to_wal(connection) and time.monotonic() < end:
        time.sleep(_WAL_RETRY_SECONDS)


def _switched_to_wal(connection: sqlite3.Connection) -> bool:
    try:
        connection.execute("PRAGMA journal_mode=WAL")
    except sqlite3.OperationalError as error:
        if "locked" not in str(error):
            raise
        return False
    return True
