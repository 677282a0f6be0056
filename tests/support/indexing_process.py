"""A process that adds files to the index in a folder, again and again, and prints the name of each that is added.

Arguments: the folder, a mark that the names of its files begin with, the number of the first and of the last file. A
file has as many chunks as `chunks_in` says. Every third file is removed again before the next one comes.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from hosting.testing.chunk_indexes import SPACE, chunks_of
from tests.support.indexed_files import sqlite_index

REMOVED_EVERY = 3


def chunks_in(number: int) -> int:
    """Return how many chunks the file of that number has."""
    return 1 + number % 7


def stays(number: int) -> bool:
    """Return whether the file is not removed again."""
    return number % REMOVED_EVERY != 0


async def add_all(folder: Path, mark: str, first: int, last: int) -> None:
    """Add the files in their order."""
    index = sqlite_index(folder)
    for number in range(first, last + 1):
        name = f"{mark}{number}"
        await index.add(SPACE, name, chunks_of(name, chunks_in(number)))
        if not stays(number):
            await index.remove(SPACE, name)
        print(number, flush=True)


if __name__ == "__main__":
    place, marked, *numbers = sys.argv[1:]
    asyncio.run(add_all(Path(place), marked, *map(int, numbers)))
