"""One process per folder: a lock that the operating system lets go of when its holder dies, however it dies."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import IO

from devhost.durable.errors import StoreInUseError, StoreUnwritableError

if sys.platform == "win32":
    import msvcrt

    def _take(file: IO[bytes]) -> None:
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)

else:
    import fcntl

    def _take(file: IO[bytes]) -> None:
        fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)


class FolderLock:
    """Holds a folder from `take` to `release`. The file stays: removing it would let two processes in."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "durable.lock"
        self._file: IO[bytes] | None = None

    def take(self) -> None:
        """Take the folder, which is made if it is not there.

        Raises `StoreInUseError` when a living process has it, `StoreUnwritableError` when it cannot be written.
        """
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            file = self._path.open("a+b")
        except OSError as error:
            raise StoreUnwritableError(self._path.parent, error.strerror or error) from error
        try:
            file.seek(0)
            _take(file)
        except OSError as error:
            file.close()
            raise StoreInUseError(
                f"Another local host is using {self._path.parent}. Stop it first, or start this one in another folder."
            ) from error
        self._file = file

    def release(self) -> None:
        """Let the folder go; nothing when it is not held."""
        if self._file is not None:
            self._file.close()
            self._file = None
