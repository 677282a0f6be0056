"""The living processes of one machine: each holds a lock that the operating system releases when it dies.

Theory. A lease says that a process may be dead, a lock that it is: a process that can take the lock of another knows
that nothing comes of it any more. A process that is stopped, or that hangs, keeps its lock. SQLite keeps processes
apart by locks of the same kind, so this is as true as its file is whole.

All processes of a file lock bytes of one other file beside it, each a byte of its own, chosen at random and never used
again. A process is named by that byte and by the file itself, so nothing is known of a process that locks another file,
or on another machine. Locks belong to a process, which loses all of them when it closes the file anywhere: so each file
is opened once in a process.
"""

from __future__ import annotations

import logging
import os
import secrets
import sys
import threading
from pathlib import Path

from hosting.core.stores.contract import Processes

logger = logging.getLogger(__name__)

_PLACES = 2**31 - 1

if sys.platform == "win32":
    import msvcrt

    def _lock(file: int, place: int) -> None:
        os.lseek(file, place, os.SEEK_SET)
        msvcrt.locking(file, msvcrt.LK_NBLCK, 1)

    def _unlock(file: int, place: int) -> None:
        os.lseek(file, place, os.SEEK_SET)
        msvcrt.locking(file, msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def _lock(file: int, place: int) -> None:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, place)

    def _unlock(file: int, place: int) -> None:
        fcntl.lockf(file, fcntl.LOCK_UN, 1, place)


class _LockFile:
    """A file with locked bytes, open in this process as long as one of them is its own."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        self.name = f"{os.fstat(self.file).st_ino:x}"
        self.own: set[int] = set()


_files: dict[Path, _LockFile] = {}
_using = threading.Lock()


class MachineProcesses(Processes):
    """The processes that use the file at `path`; this one is known from the first time that it is named."""

    def __init__(self, path: Path) -> None:
        self._path = path.resolve()
        self._path = self._path.with_name(f"{self._path.name}-processes")
        self._place: int | None = None
        self._name = ""

    @property
    def name(self) -> str:
        """The name of this process, which holds its lock; empty where no lock can be had."""
        if self._place is None:
            with _using:
                self._enter()
        return self._name

    def _enter(self) -> None:
        self._place = secrets.randbelow(_PLACES)
        try:
            file = _files.get(self._path) or _LockFile(self._path)
            _files[self._path] = file
            _lock(file.file, self._place)
        except OSError as error:
            logger.warning("Runs of a killed process wait for their leases to expire: %s: %s", self._path, error)
            return
        file.own.add(self._place)
        self._name = f"{file.name}.{self._place:x}"

    def is_gone(self, name: str) -> bool:
        """Return whether the process of that name is dead; false for an unknown one."""
        if not name or not self.name:
            return False
        with _using:
            file, (of_file, _, place) = _files[self._path], name.partition(".")
            if of_file != file.name or (byte := int(place, 16)) in file.own:
                return False
            try:
                _lock(file.file, byte)
            except OSError:
                return False
            _unlock(file.file, byte)
        return True

    def close(self) -> None:
        """Let the lock go: nothing is written any more under this name."""
        with _using:
            if self._name and self._place is not None:
                file = _files[self._path]
                _unlock(file.file, self._place)
                file.own.discard(self._place)
                if not file.own:
                    del _files[self._path]
                    os.close(file.file)
            self._name = ""
