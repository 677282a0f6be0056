"""How deleted texts leave the SQLite file and its write-ahead log.

`secure_delete` overwrites what is deleted, but not the copies that stay behind when SQLite moves a row to another page,
so the file is written anew (`VACUUM`). What was deleted also stands in the write-ahead log until that is emptied, which
a reader of an old moment prevents. Both are tried after the commit, never waited for, and tried again until they
succeeded. A process that is killed before that leaves it to the others: the file counts the deletions that are owed,
and whoever has nothing to write for a while looks whether the log holds anything.
"""

from __future__ import annotations

import logging
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

logger = logging.getLogger(__name__)

OWE = "UPDATE erasures SET asked = asked + 1"
"""Part of each step that deletes."""

_OWED = "SELECT asked FROM erasures WHERE asked > done"
_PAID = "UPDATE erasures SET done = max(done, ?)"
_SHORTEST_PAUSE_SECONDS = 0.05
_LONGEST_PAUSE_SECONDS = 2.0
_PAUSE_PER_SECOND = 10
"""A large file takes its time, in which nobody writes: it is written anew for at most a tenth of the time."""


class Eraser:
    """Empties the file of what was deleted; used by one thread, but for `is_due`."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._log = path.with_name(f"{path.name}-wal")
        self.is_due = True  # a process that was killed may have left deleted texts
        self._pause_seconds = _SHORTEST_PAUSE_SECONDS
        self._next = 0.0

    def seconds_to_wait(self) -> float:
        """Return for how long there is nothing to do here, if nobody writes."""
        if not self.is_due:
            return _LONGEST_PAUSE_SECONDS
        return max(_SHORTEST_PAUSE_SECONDS, self._next - time.monotonic())

    def look(self) -> None:
        """Have the log emptied, whoever filled it, and whatever with."""
        try:
            self.is_due = self.is_due or self._log.stat().st_size > 0
        except OSError:
            return

    def erase(self, connection: sqlite3.Connection, *, is_last: bool = False) -> None:
        """Do what is due, unless it was tried a moment ago and this is not the last time that it can be."""
        if not self.is_due or (time.monotonic() < self._next and not is_last):
            return
        self.is_due = False
        began = time.monotonic()
        with _never_waiting(connection):
            is_left = self._is_left_of_file(connection) | self._is_left_of_log(connection)
        # Another process may have deleted before its log was emptied here, and die without a trace but this.
        self.is_due = self.is_due or is_left or self._is_owed(connection)
        longer = min(2 * self._pause_seconds, _LONGEST_PAUSE_SECONDS)
        self._pause_seconds = longer if is_left else _SHORTEST_PAUSE_SECONDS
        now = time.monotonic()
        self._next = now + max(self._pause_seconds if is_left else 0.0, _PAUSE_PER_SECOND * (now - began))

    def _is_left_of_file(self, connection: sqlite3.Connection) -> bool:
        """Write the file anew if it owes that; True where that could not be."""
        try:
            for owed in connection.execute(_OWED).fetchall():
                connection.execute("VACUUM")
                connection.execute(_PAID, owed)
        except sqlite3.Error as error:
            self._say(error)
            return True
        return False

    def _is_left_of_log(self, connection: sqlite3.Connection) -> bool:
        """Move the write-ahead log into the file and cut it; True while a reader needs it."""
        try:
            return bool(connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0])
        except sqlite3.Error as error:
            self._say(error)
            return True

    def _is_owed(self, connection: sqlite3.Connection) -> bool:
        try:
            return bool(connection.execute(_OWED).fetchall())
        except sqlite3.Error:
            return True

    def _say(self, error: sqlite3.Error) -> None:
        if "locked" not in str(error):
            logger.warning("Deleted texts are still in %s or its write-ahead log: %s", self._path, error)


@contextmanager
def _never_waiting(connection: sqlite3.Connection) -> Iterator[None]:
    (timeout_ms,) = connection.execute("PRAGMA busy_timeout").fetchone()
    connection.execute("PRAGMA busy_timeout = 0")
    try:
        yield
    finally:
        connection.execute(f"PRAGMA busy_timeout = {timeout_ms}")
