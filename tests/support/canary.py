"""A word that is looked for in every file of a store, after what held it was deleted."""

from __future__ import annotations

import asyncio
from pathlib import Path


def holds(folder: Path, word: bytes) -> bool:
    """Tell whether a file below the folder holds the word."""
    return any(word in path.read_bytes() for path in folder.rglob("*") if path.is_file())


async def gone(folder: Path, word: bytes) -> None:
    """Return once no file holds the word: engines empty their write-ahead logs a moment after the commit."""
    while holds(folder, word):  # noqa: ASYNC110 - files tell nobody
        await asyncio.sleep(0.02)
