"""A process that watches one thread and prints, for each time that it was woken, the position it watched behind and the
machine's monotonic clock.

Arguments: the backend, its place, and how often it is to be woken, each time by one event.
"""

import asyncio
import sys
import time

from tests.contracts.opened_stores import OPEN
from tests.contracts.thread_appends import ADDRESS

LONG = 60.0


async def print_wakes(backend: str, place: str, wakes: int) -> None:
    """Watch behind each position in its turn."""
    store = OPEN[backend](place, "hub")
    for position in range(wakes):
        assert await store.watch(ADDRESS, position, LONG)
        print(position, time.monotonic(), flush=True)
    await store.close()


if __name__ == "__main__":
    backend, place, wakes = sys.argv[1:]
    asyncio.run(print_wakes(backend, place, int(wakes)))
