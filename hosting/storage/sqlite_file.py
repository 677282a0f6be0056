"""A store's SQLite file: how it is opened, made, refused, and rid of what was deleted."""

from __future__ import annotations

import contextlib
import hashlib
import logging
import sqlite3
import time
from dataclasses import dataclass
from pathlib import Path

from hosting.errors import ConfigurationError

logger = logging.getLogger(__name__)

BUSY_SECONDS = 30.0
_WAL_RETRY_SECONDS = 0.01


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
        """Return a connection to the file at `path`, making it or refusing one that a newer version wrote."""
        path.parent.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(path, timeout=busy_seconds, isolation_level=None, check_same_thread=False)
        try:
            _use_wal(connection, busy_seconds)
            connection.execute(f"PRAGMA synchronous={synchronous}")
            connection.execute("PRAGMA secure_delete=ON")
            connection.execute("BEGIN IMMEDIATE")
            self._make_or_refuse(connection, path)
            connection.execute("COMMIT")
        except BaseException:
            connection.close()
            raise
        return connection

    def refuse_newer(self, path: Path) -> None:
        """Raise `ConfigurationError` when the file at `path` was written by a newer version.

        A file that is not there, or cannot be read now, is found at the first use.
        """
        if not path.is_file():
            return
        try:
            connection = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True, timeout=0)
        except sqlite3.Error:
            return
        with contextlib.closing(connection), contextlib.suppress(sqlite3.Error):
            self._refuse_version(connection.execute("PRAGMA user_version").fetchone()[0], path)

    def forget_overwritten(self, path: Path, busy_seconds: float) -> None:
        """Empty the write-ahead log, which keeps the pages as they were before something was deleted from them.

        Where a reader is in the way it is emptied by a later commit instead, and the log says so.
        """
        with contextlib.closing(sqlite3.connect(path, timeout=busy_seconds, isolation_level=None)) as connection:
            is_busy, _, _ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        if is_busy:
            logger.warning("The %s is in use; what was deleted is overwritten with its next commits.", self.name)

    def _make_or_refuse(self, connection: sqlite3.Connection, path: Path) -> None:
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        self._refuse_version(version, path)
        connection.create_function("sha256", 1, lambda text: hashlib.sha256(text.encode()).hexdigest())
        for statements in (self.schema, *self.upgrades)[version:]:
            for statement in statements.split(";"):
                connection.execute(statement)
        connection.execute(f"PRAGMA user_version={self.version}")

    def _refuse_version(self, version: int, path: Path) -> None:
        if version > self.version:
            raise ConfigurationError(
                f"The {self.name} {path} has version {version}; this app reads up to {self.version}. "
                f"Run the version that wrote it, or set {self.setting} to another file."
            )


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
