"""Folders and files of the host's that other users of the machine cannot read: conversations, keys, open work.

POSIX modes only; on Windows a user's folder is the user's own. Modes are set from the first byte on, and corrected
where an older host or a copy left wider ones. A file system that keeps no modes (a shared folder of a container) goes
on without them.
"""

from __future__ import annotations

import contextlib
import os
import stat
import sys
from pathlib import Path
from typing import IO

_FOLDER_MODE = 0o700
_FILE_MODE = 0o600


def make_own_folder(folder: Path) -> None:
    """Make the folder where it is missing, and close it to others; raises OSError when it cannot be made."""
    folder.mkdir(mode=_FOLDER_MODE, parents=True, exist_ok=True)
    _close_to_others(folder, _FOLDER_MODE)


def make_own_file(path: Path) -> None:
    """Make the file, empty, where it is missing, and close it to others; raises OSError when it cannot be made."""
    # One that is there is not opened: closing it would end the locks that SQLite, in this process, has on it.
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _FILE_MODE))
    except FileExistsError:
        _close_to_others(path, _FILE_MODE)


def close_file_to_others(path: Path) -> None:
    """Close the file to others, if it is there."""
    if path.exists():
        _close_to_others(path, _FILE_MODE)


def open_own_file(path: Path) -> IO[str]:
    """Open the file for a new text, closed to others; raises OSError when it cannot be written."""
    make_own_file(path)
    return path.open("w", encoding="utf-8")


def _close_to_others(path: Path, mode: int) -> None:
    if sys.platform == "win32" or not stat.S_IMODE(path.stat().st_mode) & ~mode:
        return
    with contextlib.suppress(PermissionError, NotImplementedError):
        path.chmod(mode)
