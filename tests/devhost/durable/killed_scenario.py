"""A program for `test_killed_at_every_commit`: one scenario over a SQLite file, in processes that are killed.

`killed_scenario.py FOLDER NAME`: for n = 1, 2, ... one process runs the scenario and is killed with SIGKILL right
behind its n-th commit, the next one finishes it; so on, until a run has fewer than n commits. Each process is forked
from this one, which has only imported what they need, and begins with a copy of one file in which the scenario is
written down. Prints a line of JSON for each n: how the first process ended
(`killed`) and what the last one found.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sys
import time
from collections import Counter
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any

from devhost.durable import events
from devhost.durable.crash import crash_points
from devhost.durable.engine import DurableTask
from devhost.durable.settings import DurableSettings
from devhost.durable.store.sqlite import SqliteStore
from tests.devhost.durable.clocks import FastClock
from tests.devhost.durable.observed_store import ObservedStore
from tests.devhost.durable.scenario_app import build_app
from tests.devhost.durable.scenarios import SCENARIOS, write_down
from tests.devhost.durable.sdk_functions import SdkFunctions

_ENDS = (events.TaskCompleted, events.TaskFailed, events.ChildCompleted, events.ChildFailed)
_GUARD_SECONDS = 30.0


class CountedAttempts:
    """Attempts by name, counted in a file: the next process goes on counting."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def count(self, name: str) -> int:
        """Return which attempt this is."""
        with self._path.open("a+") as file:
            file.write(f"{name}\n")
            file.seek(0)
            return file.read().splitlines().count(name)


async def run(folder: Path, name: str, clock: FastClock, dies_at: int | None) -> None:
    """Run until the scenario has ended, or until this process has made its n-th commit."""
    store = ObservedStore(SqliteStore(folder))
    if dies_at is not None:
        crash_points.arm(f"after-commit:{dies_at}")
    functions = SdkFunctions(build_app(CountedAttempts(folder / "attempts.txt").count))
    engine = DurableTask(functions, store, DurableSettings(), clock)
    await engine.start()
    await store.until_ended(name, _GUARD_SECONDS)
    stored = await store.orchestration(name)
    assert stored is not None
    entities = {entity.id.key: entity.state for entity in await store.list_entities("@counter@", "", None)}
    found = {"status": stored.instance.status.value, "output": json.loads(stored.instance.output or "null")}
    print(
        json.dumps({"killed": dies_at is None, **found, "entities": entities, "twice": happened_twice(stored.history)})
    )
    sys.stdout.flush()
    await engine.stop(0)


async def begin(folder: Path, name: str, clock: FastClock) -> None:
    """Write the scenario down in a file, with nobody to act on it."""
    store = SqliteStore(folder)
    await write_down(next(one for one in SCENARIOS if one.name == name), store, clock)
    await store.close()


def happened_twice(history: Sequence[events.Event]) -> list[str]:
    """Return the requests, ends and firings that the history has more than once."""
    requests = Counter(f"request {event.event_id}" for event in history if event.event_id >= 0)
    ends = Counter(f"end of {event.task_id}" for event in history if isinstance(event, _ENDS))
    fired = Counter(f"timer {event.timer_id}" for event in history if isinstance(event, events.TimerFired))
    return [what for what, count in (requests + ends + fired).items() if count > 1]


def forked(work: Callable[[], Coroutine[Any, Any, None]]) -> int:
    """Do the work in a process of its own, and return how that ended; minus the signal that killed it."""
    child = os.fork()
    if child == 0:
        try:
            asyncio.run(work())
            os._exit(0)
        except BaseException as error:
            print(repr(error), file=sys.stderr, flush=True)
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def main(folder: Path, name: str) -> int:
    dies_at, ended, written, began = 0, -9, folder / "written", time.monotonic()
    if forked(lambda: begin(written, name, FastClock(began=began))) != 0:  # it has threads, and forks must have none
        return 1
    while ended == -9:
        dies_at += 1
        place, clock = shutil.copytree(written, folder / str(dies_at)), FastClock(began=began)
        ended = forked(lambda place=place, clock=clock, at=dies_at: run(place, name, clock, at))  # type: ignore[misc]
        if ended == -9 and forked(lambda place=place, clock=clock: run(place, name, clock, None)) != 0:  # type: ignore[misc]
            return 1
    return ended


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2]))
