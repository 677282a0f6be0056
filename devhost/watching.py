"""`start --watch`: runs the host as a child process and starts it anew when the app's files change.

A process of its own is the only clean way to forget an imported app. The child is asked to drain; what does not end in
time runs again, as after any stop, because the durable engine commits each step. A child that ends by itself, say at an
app that cannot be imported, is waited for: the next edit starts it again.
"""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

_POLL_SECONDS = 0.3
_KILLED_EXIT_CODE = 137
_DRAIN_SECONDS = 15.0
_SUFFIXES = frozenset({".py", ".json", ".toml", ".txt", ".md", ".yaml", ".yml"})
_SKIPPED = frozenset({"__pycache__", "node_modules", "site-packages", "tests"})

Snapshot = Mapping[Path, tuple[int, int]]


def snapshot(folder: Path) -> Snapshot:
    """Return time and size of each file that an edit may change; hidden folders, packages and tests are left out.

    An app imports none of its tests, and who edits one while a run is at work would stop that run.
    """
    found: dict[Path, tuple[int, int]] = {}
    for path in _files(folder):
        try:
            status = path.stat()
        except OSError:
            continue
        found[path] = (status.st_mtime_ns, status.st_size)
    return found


def _files(folder: Path) -> Iterator[Path]:
    try:
        entries = sorted(folder.iterdir())
    except OSError:
        return
    for entry in entries:
        if entry.name.startswith(".") or entry.name in _SKIPPED or (entry / "pyvenv.cfg").exists():
            continue
        if entry.is_dir():
            yield from _files(entry)
        elif entry.suffix in _SUFFIXES:
            yield entry


def keep_running(
    command: Sequence[str], folder: Path, stop: threading.Event, was_typed: Callable[[], bool] = lambda: False
) -> None:
    """Run the command in the folder, again after each change of a file, until `stop` is set; then let it drain.

    `was_typed`: whether it was Ctrl-C that set `stop`.
    """
    gc.enable()  # this process starts no app, and stays
    seen = snapshot(folder)
    child = _start(command, folder)
    is_reported = False
    try:
        while not stop.wait(_POLL_SECONDS):
            now = snapshot(folder)
            if child.poll() is not None and not is_reported:
                print("The app has ended. It is started again when one of its files changes; Ctrl-C stops.", flush=True)
                is_reported = True
            if now != seen:
                seen = now
                print(f"Changed: {_name_of_change(now, folder)}. Starting again.", flush=True)
                _end(child)
                child, is_reported = _start(command, folder), False
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
