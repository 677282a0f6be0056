"""A process that appends to one thread against whoever else does, and prints the number of each append that counted.

Arguments: the backend, its place, a mark that tells this process's appends from others', the number of the first and
of the last. Each append has two events, a row, and a head that names it.
"""

import asyncio
import sys

from hosting.stores.contract import Append, Appended, Conflict, Row, StoredHead, ThreadStore
from tests.contracts.thread_appends import ADDRESS, behind
from tests.contracts.thread_stores import BACKENDS

AGAIN_EVERY = 10


def numbered(known: StoredHead | None, mark: str, number: int) -> Append:
    """Return the append of that mark and number."""
    name = f"{mark}-{number}"
    position = known.position if known is not None else 0
    parts = (f"{name} first".encode(), f"{name} second".encode())
    return behind(known, *parts, rows=(Row(f"run-{name}", position + 1, name.encode()),), payload=name.encode())


async def win(store: ThreadStore, known: StoredHead | None, mark: str, number: int) -> StoredHead:
    """Append until it counted, and return the head; some are given again, as if their answer had been lost."""
    append = numbered(known, mark, number)
    while not isinstance(outcome := await store.append(ADDRESS, known, append), Appended):
        if isinstance(outcome, Conflict):
            known = outcome.head
            append = numbered(known, mark, number)
    if number % AGAIN_EVERY == 0:
        assert isinstance(await store.append(ADDRESS, known, append), Appended)
    return outcome.head


async def append_all(store: ThreadStore, mark: str, first: int, last: int) -> None:
    """Win each of the numbers, in their order."""
    head = await store.head(ADDRESS)
    for number in range(first, last + 1):
        head = await win(store, head, mark, number)
        print(number, flush=True)
    await store.close()


if __name__ == "__main__":
    backend, place, mark, first, last = sys.argv[1:]
    asyncio.run(append_all(BACKENDS[backend].open(place, "hub"), mark, int(first), int(last)))
