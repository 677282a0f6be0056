"""A process whose disk is full in the middle of appends (`RLIMIT_FSIZE`), and has room again.

Arguments: the file, and how many appends. Each is given on a disk that takes some pages of it and no more, then again
on one that takes all of it. Prints what became of each, both times, and whether the thread could be read meanwhile.
"""

import asyncio
import resource
import sys
from pathlib import Path

from hosting.core.stores.contract import Appended
from hosting.core.stores.sqlite import SqliteThreadStore
from tests.contracts.thread_appends import ADDRESS, behind, texts, write

_PAGE = 4096
_, _NO_LIMIT = resource.getrlimit(resource.RLIMIT_FSIZE)


def leave_room(path: Path, pages: int) -> None:
    """Let the write-ahead log grow by so many pages and no further."""
    used = Path(f"{path}-wal").stat().st_size
    resource.setrlimit(resource.RLIMIT_FSIZE, (used + pages * _PAGE + 1, _NO_LIMIT))


async def append_on_a_full_disk(path: Path, count: int) -> None:
    store = SqliteThreadStore(path, "hub")
    head = await write(store, None, b"0" * 20_000)
    for number in range(1, count + 1):
        append = behind(head, str(number).encode() * 10_000, str(number).encode() * 10_000)
        leave_room(path, number % 6)
        full = await store.append(ADDRESS, head, append)
        readable = len(await texts(store)) == head.position
        resource.setrlimit(resource.RLIMIT_FSIZE, (_NO_LIMIT, _NO_LIMIT))
        again = await store.append(ADDRESS, head, append)
        print(type(full).__name__, readable, type(again).__name__, flush=True)
        assert isinstance(again, Appended)
        head = again.head
    await store.close()


if __name__ == "__main__":
    asyncio.run(append_on_a_full_disk(Path(sys.argv[1]), int(sys.argv[2])))
