"""The lines of a file that other processes append to."""

from __future__ import annotations

from pathlib import Path


def whole_lines(path: Path) -> list[str]:
    """Return all that are whole, none of a file that is not there yet.

    A line that is appended in one write is read in two where a page of the file ends within it.
    """
    return path.read_text(encoding="utf-8").rpartition("\n")[0].splitlines() if path.exists() else []
