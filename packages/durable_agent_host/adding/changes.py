"""Changes of an app's files: shown as a difference, or written all together.

New files come first and `function_app.py` last. If a write fails, what was written is taken back. If the process is
killed between two writes, the app runs as before, and the same command goes on: a file that is already as it would be
written is no obstacle.
"""

from __future__ import annotations

import difflib
import os
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path


class OutsideError(Exception):
    """A path of the app leads out of its folder; the message names it."""


@dataclass(frozen=True)
class Change:
    """What becomes of one file. `before` is what was read, None for a file that is new."""

    before: bytes | None
    after: bytes


def difference(changes: Mapping[str, Change]) -> Iterator[str]:
    """Iterate over the lines of a patch that `git apply` takes."""
    for name, change in changes.items():
        before = [] if change.before is None else _lines(change.before)
        first = "/dev/null" if change.before is None else f"a/{name}"
        for line in difflib.unified_diff(before, _lines(change.after), first, f"b/{name}"):
            yield line.removesuffix("\n")
            if not line.endswith("\n"):
                yield "\\ No newline at end of file"


def _lines(content: bytes) -> list[str]:
    return [f"{line}\n" for line in content.decode("utf-8", "replace").split("\n")[:-1]] + [
        line for line in content.decode("utf-8", "replace").split("\n")[-1:] if line
    ]


def write(folder: Path, changes: Mapping[str, Change]) -> None:
    """Write all files or none.

    Raises `OutsideError` before anything is written, `OSError` when all that was written is taken back.
    """
    places = {_place(folder, name): change for name, change in changes.items()}
    written: list[Path] = []
    made: list[Path] = []
    try:
        for path, change in places.items():
            made += _make_folder(path.parent)
            _replace(path, change.after)
            written.append(path)
    except BaseException:
        for path in reversed(written):
            before = places[path].before
            if before is None:
                path.unlink(missing_ok=True)
            else:
                _replace(path, before)
        for parent in reversed(made):
            parent.rmdir()
        raise


def _place(folder: Path, name: str) -> Path:
    path = (folder / name).resolve()
    if not path.is_relative_to(folder):
        raise OutsideError(f"{name} leads out of {folder}, so nothing was changed. Make it a file of the app.")
    return path


def _make_folder(folder: Path) -> list[Path]:
    missing = [parent for parent in (folder, *folder.parents) if not parent.exists()]
    for parent in reversed(missing):
        parent.mkdir()
    return missing[::-1]


def _replace(path: Path, content: bytes) -> None:
    """Give a file its bytes at once: a reader sees the old ones or the new ones, with the modes that it had."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        beside.write_bytes(content)
        if path.exists():
            shutil.copymode(path, beside)
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)
