"""Who uses a folder: locks that the operating system lets go of when their holder dies, however it dies.

Every host of a folder shares one lock, so that nobody deletes the folder's file under it; the host that works on the
engine's messages is alone with another.
"""

from __future__ import annotations

import os
import secrets
import sys
import weakref
from pathlib import Path
from typing import IO

from devhost.errors import StoreInUseError, StoreUnwritableError
from devhost.own_files import make_own_file, make_own_folder

WORKER_LOCK = "durable.lock"
HOSTS_LOCK = "hosts.lock"

if sys.platform == "win32":
    import msvcrt

    _PLACES = 1024  # no shared locks there: who shares takes one byte, who wants to be alone takes all

    def _take(file: IO[bytes], is_shared: bool) -> None:
        file.seek(secrets.randbelow(_PLACES) if is_shared else 0)
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1 if is_shared else _PLACES)

else:
    import fcntl

    # A process that was forked, by an app's multiprocessing perhaps, has the open file too and would keep the lock.
    _open_files: weakref.WeakSet[IO[bytes]] = weakref.WeakSet()

    def _let_go_in_child() -> None:
        for file in _open_files:
            file.close()

    os.register_at_fork(after_in_child=_let_go_in_child)

    def _take(file: IO[bytes], is_shared: bool) -> None:
        _open_files.add(file)
        fcntl.flock(file.fileno(), (fcntl.LOCK_SH if is_shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)


class FolderLock:
    """Holds a folder from `take` to `release`. The file stays: removing it would let two processes in."""

    def __init__(self, folder: Path, name: str) -> None:
        self._path = folder / name
        self._file: IO[bytes] | None = None

    def take(self, *, is_shared: bool = False) -> None:
        """Take the lock, alone or with others who share it; the folder is made if it is not there.

        Raises `StoreInUseError` when a living process has it, `StoreUnwritableError` when it cannot be written.
        """
        try:
            make_own_folder(self._path.parent)
            make_own_file(self._path)
            file = self._path.open("a+b")
        except OSError as error:
            raise StoreUnwritableError(self._path.parent, error.strerror or error) from error
        try:
            _take(file, is_shared)
        except OSError as error:
            file.close()
            raise StoreInUseError(
                f"Another local host is using {self._path.parent}. Stop it first, or start this one in another folder."
            ) from error
        self._file = file

    def release(self) -> None:
        """Let the lock go; nothing when it is not held."""
        if self._file is not None:
            self._file.close()
            self._file = None
