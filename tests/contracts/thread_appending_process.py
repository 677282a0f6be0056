"""A process that appends to one thread against whoever else does, and prints the number of each append that counted.

Arguments: the backend, its place, a mark that tells this process's appends from others', the number of the first and
of the last, and how many processes begin together: each waits behind its first append until all have one. Each append
has two events, a row, and a head that names it.
"""

import asyncio
import sys

from hosting.core.stores.contract import Append, Appended, Conflict, Row, StoredHead, ThreadStore
from tests.contracts.opened_stores import OPEN
from tests.contracts.thread_appends import ADDRESS, behind

AGAIN_EVERY = 10
EVENTS = 2


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


async def append_all(store: ThreadStore, mark: str, first: int, last: int, together: int) -> None:
    """Win each of the numbers, in their order."""
    head = await store.head(ADDRESS)
    for number in range(first, last + 1):
        head = await win(store, head, mark, number)
        print(number, flush=True)
        while number == first and together > 1 and head is not None and head.position < together * EVENTS:
            head = await store.head(ADDRESS)
    await store.close()


if __name__ == "__main__":
    backend, place, mark, *numbers = sys.argv[1:]
    asyncio.run(append_all(OPEN[backend](place, "hub"), mark, *map(int, numbers)))
