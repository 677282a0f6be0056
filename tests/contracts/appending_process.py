"""A process that opens one run in a shared file and appends until it has won so many positions.

Arguments: the file, the run id, how many appends to win, and a number that tells this process's events from others'.
"""

import asyncio
import sys
from pathlib import Path

from hosting.ports import RunLogStore
from hosting.runlog.sqlite import SqliteStore
from tests.support.sample_events import accepted, signalled


async def append_until_won(store: RunLogStore, run_id: str, wins: int, mark: float) -> None:
    """Win `wins` compare-and-appends against whoever else writes; the n-th event's time is `mark` + n."""
    record = (await store.open(accepted(run_id))).record
    won = 0
    while won < wins:
        if await store.append(run_id, signalled(mark + won), after=record.position):
            won += 1
        newest = await store.read(run_id)
        assert newest is not None
        record = newest


if __name__ == "__main__":
    path, run_id, wins, mark = sys.argv[1:]
    asyncio.run(append_until_won(SqliteStore(Path(path)), run_id, int(wins), float(mark)))
