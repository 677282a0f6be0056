"""Looks whether another process wrote to a SQLite file, for those in this process who wait for it."""

from __future__ import annotations

import contextlib
import sqlite3
import threading
from pathlib import Path

from hosting.stores.sqlite_steps import read_position
from hosting.stores.watchers import Watchers

LOOK_SECONDS = 0.02


class ChangeLooker:
    """One thread that looks at the file's `data_version` for as long as anybody in this process watches.

    SQLite cannot push to another process. A look reads a counter in shared memory and no page of the file, however many
    watch; only when somebody has written are the positions of the watched threads read.
    """

    def __init__(self, path: Path, watchers: Watchers) -> None:
        self._path = path
        self._watchers = watchers
        self._changing = threading.Lock()
        self._is_looking = False
        self._hurry = threading.Event()

    def start(self) -> None:
        """Look from now on, if nobody does; whoever calls has entered a watcher, and it ends with the last of them."""
        with self._changing:
            if not self._is_looking:
                self._is_looking = True
                threading.Thread(target=self._look_until_alone, name="watch of threads", daemon=True).start()

    def stop(self) -> None:
        """Do not wait for the next look to find that nobody watches."""
        self._hurry.set()

    def _look_until_alone(self) -> None:
        try:
            with contextlib.closing(sqlite3.connect(self._path, isolation_level=None)) as connection:
                self._look(connection)
        except sqlite3.Error:
            with self._changing:
                self._is_looking = False
            self._watchers.release()  # their callers look themselves, and are told what is wrong

    def _look(self, connection: sqlite3.Connection) -> None:
        seen = None
        while self._is_wanted():
            version = connection.execute("PRAGMA data_version").fetchone()
            if version != seen:
                for thread in self._watchers.threads():
                    self._watchers.tell(thread, read_position(connection, thread))
            seen = version
            self._hurry.wait(LOOK_SECONDS)
            self._hurry.clear()

    def _is_wanted(self) -> bool:
        with self._changing:
            self._is_looking = bool(self._watchers.threads())
            return self._is_looking
