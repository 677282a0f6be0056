"""`start --watch`: runs the host as a child process and starts it anew when the app's files change.

A process of its own is the only clean way to forget an imported app. The child is asked to drain; what does not end in
time runs again, as after any stop, because the durable engine commits each step. A child that ends by itself, say at an
app that cannot be imported, is waited for: the next edit starts it again.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

_POLL_SECONDS = 0.3
_KILLED_EXIT_CODE = 137
NOT_BY_EDITS = 3
"""How a watched host ends for what no change of its app's files mends; whoever started the watching one sees 1."""
_DRAIN_SECONDS = 15.0
_SKIPPED = frozenset({"__pycache__", "node_modules", "site-packages", "tests"})
_SETTINGS = ("host.json", "local.settings.json")

Snapshot = Mapping[Path, tuple[int, int]]


@dataclass(frozen=True)
class _Watched:
    """What an app says of its files: patterns of `.funcignore`, and files and folders of host.json's `watch...`."""

    ignored: tuple[str, ...]
    files: frozenset[str]
    folders: frozenset[str]

    @classmethod
    def by(cls, folder: Path) -> _Watched:
        """Return what holds now. What cannot be read says nothing: the app's start has the sentence about it."""
        lines, host = list[str](), None
        with contextlib.suppress(OSError, ValueError):
            lines = (folder / ".funcignore").read_text(encoding="utf-8-sig").splitlines()
        with contextlib.suppress(OSError, ValueError):
            host = json.loads((folder / "host.json").read_text(encoding="utf-8-sig"))
        named = [host.get(key) if isinstance(host, dict) else None for key in ("watchFiles", "watchDirectories")]
        files, folders = (
            frozenset(one for one in names if isinstance(one, str)) if isinstance(names, list) else frozenset[str]()
            for names in named
        )
        # A line that takes something back (`!name`) is left out with its comments: rather one start too many.
        patterns = (line.strip().rstrip("/") for line in lines if line[:1] not in ("#", "!"))
        ignored = tuple(f"/{one.lstrip('/')}" if "/" in one else one for one in patterns if one)
        return cls(ignored, files, folders)

    def leaves_out(self, path: str) -> bool:
        """Return whether a pattern of `.funcignore` fits the path in the app's folder, or its last name."""
        place = PurePosixPath(f"/{path}")
        return any(place.match(pattern) for pattern in self.ignored)


def snapshot(folder: Path) -> Snapshot:
    """Return time and size of each file that an edit may change: the app's Python, its settings, what host.json names.

    Other files are data. An agent's tools may write some while a run is at work, which a new start would stop. What
    `.funcignore` leaves out is no part of the app, nor are hidden folders, packages and tests: nothing imports them.
    """
    found: dict[Path, tuple[int, int]] = {}
    for path in (*(folder / name for name in _SETTINGS), *_files(folder, _Watched.by(folder))):
        try:
            status = path.stat()
        except OSError:
            continue
        found[path] = (status.st_mtime_ns, status.st_size)
    return found


def _files(folder: Path, watched: _Watched, below: str = "", *, takes_all: bool = False) -> Iterator[Path]:
    """Yield what is watched in a folder, which is `below` in the app's; `takes_all` in one that host.json names."""
    try:
        entries = sorted(folder.iterdir())
    except OSError:
        return
    for entry in entries:
        path = f"{below}{entry.name}"
        if entry.name.startswith(".") or entry.name in _SKIPPED or (entry / "pyvenv.cfg").exists():
            continue
        is_named = takes_all or path in watched.folders or entry.name in watched.files
        if not is_named and watched.leaves_out(path):
            continue
        if entry.is_dir():
            yield from _files(entry, watched, f"{path}/", takes_all=takes_all or path in watched.folders)
        elif is_named or entry.suffix == ".py":
            yield entry


def keep_running(
    command: Sequence[str], folder: Path, stop: threading.Event, was_typed: Callable[[], bool] = lambda: False
) -> bool:
    """Run the command in the folder, again after each change of a file, until `stop` is set; then let it drain.

    `was_typed`: whether it was Ctrl-C that set `stop`. False where the command ended for what no file of the app mends.
    """
    gc.enable()  # this process starts no app, and stays
    seen = snapshot(folder)
    child = _start(command, folder)
    is_reported = False
    try:
        while not stop.wait(_POLL_SECONDS):
            now = snapshot(folder)
            if child.poll() == NOT_BY_EDITS:
                return False
            if child.poll() is not None and not is_reported:
                print("The app has ended. It is started again when one of its files changes; Ctrl-C stops.", flush=True)
                is_reported = True
            if now != seen:
                seen = now
                print(f"Changed: {_name_of_change(now, folder)}. Starting again.", flush=True)
                _end(child)
                child, is_reported = _start(command, folder), False
        return True
    finally:
        _end(child, is_asked=was_typed())


def end_with(parent: int) -> None:
    """End this process where it stands once the process `parent`, which started it, is gone: nothing else stops it.

    That loses nothing: the durable engine commits each step. On Windows a process does not learn that its parent ended.
    """

    def wait() -> None:
        while os.getppid() == parent:
            time.sleep(_POLL_SECONDS)
        os._exit(_KILLED_EXIT_CODE)

    threading.Thread(target=wait, name="end-with-parent", daemon=True).start()


def _name_of_change(files: Snapshot, folder: Path) -> str:
    newest = max(files, key=lambda path: files[path][0], default=folder)
    return newest.relative_to(folder).as_posix()


def _start(command: Sequence[str], folder: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, *command], cwd=folder)


def _end(child: subprocess.Popen[bytes], *, is_asked: bool = False) -> None:
    """Ask the child to drain, and stop it when it takes too long; `is_asked` when Ctrl-C may have asked it already.

    A terminal sends Ctrl-C to all of its processes, `kill -INT` and an editor to this one alone: so it is passed on,
    and a child that had it takes both for one. On Windows it always comes from the console, to all, and asking would
    be stopping at once, by which nothing is lost.
    """
    if child.poll() is None and not (is_asked and os.name == "nt"):
        child.terminate()
    try:
        child.wait(_DRAIN_SECONDS)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()
