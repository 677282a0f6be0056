"""A process for `test_killed_process`: the disk is full for it whenever it says so (`RLIMIT_FSIZE`).

`full_disk_program.py FOLDER COUNT` commits COUNT steps, each on a disk that takes some pages of it and no more, and
makes room only after the store has said that it waits; it closes the store while the last step waits. Prints a line for
each step that was kept.
"""

from __future__ import annotations

import asyncio
import logging
import resource
import sys
from pathlib import Path

from devhost.durable.records import Entity, EntityId, Step, entity_target
from devhost.durable.store.sqlite import SqliteStore
from tests.support.engine_clocks import START

_, _NO_LIMIT = resource.getrlimit(resource.RLIMIT_FSIZE)
_PAGE = 4096


class Heard(logging.Handler):
    """Sets `said` when the store says these words."""

    def __init__(self, words: str, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(logging.WARNING)
        self._words = words
        self.text = asyncio.Event()
        self._loop = loop

    def emit(self, record: logging.LogRecord) -> None:
        if self._words in record.getMessage():
            self._loop.call_soon_threadsafe(self.text.set)


def fill_disk(folder: Path, left_pages: int) -> None:
    """Leave room for so many pages behind the end of the write-ahead log."""
    used = (folder / "durable.db-wal").stat().st_size
    resource.setrlimit(resource.RLIMIT_FSIZE, (used + left_pages * _PAGE + 1, _NO_LIMIT))


def make_room() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (_NO_LIMIT, _NO_LIMIT))


async def main(folder: Path, count: int) -> None:
    stalls = Heard("Durable work is stalled", asyncio.get_running_loop())
    logging.getLogger("devhost.durable").addHandler(stalls)
    store = SqliteStore(folder)
    store.open()
    # A deletion is followed by the emptying of the log, and with it comes the one that every start owes.
    first = EntityId("counter", "first")
    await store.commit(Step(entity=Entity(first, True, "x", START)))
    await store.commit(Step(forgotten=(entity_target(first),)))
    while (folder / "durable.db-wal").stat().st_size:  # noqa: ASYNC110 - the store does not tell
        await asyncio.sleep(0.01)
    for number in range(count):
        stalls.text.clear()
        fill_disk(folder, number % 5)
        kept = store.commit(Step(entity=Entity(EntityId("counter", f"{number:03}"), True, "x" * 20_000, START)))
        await stalls.text.wait()
        assert not kept.done()
        if number < count - 1:
            make_room()
            await kept
            print(f"kept {number}", flush=True)
    await store.close()
    print(f"given up: {type(kept.exception()).__name__}", flush=True)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), int(sys.argv[2])))
