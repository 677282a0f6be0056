"""A program for `test_killed_at_every_commit`: scenarios over a SQLite file, in processes that are killed.

`killed_scenario.py FOLDER`, with the name of a scenario on each line of its input: for n = 1, 2, ... one process runs
the scenario and is killed with SIGKILL right behind its n-th commit, the next one finishes it; so on, until a run has
fewer than n commits. Each process is forked from this one, which has only imported what they need and built the app,
and begins with a copy of one file in which the scenario is written down. Prints a line of JSON for each scenario, with
what happened for each n: how the first process ended (`killed`) and what the last one found. That is null where a
process failed, which has printed why.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import shutil
import sys
import time
from collections import Counter
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from devhost.durable import events
from devhost.durable.crash import crash_points
from devhost.durable.engine import DurableTask
from devhost.durable.settings import DurableSettings
from devhost.durable.store.sqlite import SqliteStore
from tests.devhost.durable.scenario_app import build_app
from tests.devhost.durable.scenarios import SCENARIOS, write_down
from tests.devhost.durable.sdk_functions import SdkFunctions
from tests.support.engine_clocks import FastClock
from tests.support.observed_store import ObservedStore

_ENDS = (events.TaskCompleted, events.TaskFailed, events.ChildCompleted, events.ChildFailed)
_GUARD_SECONDS = 30.0
FOUND = "found.json"


def count_attempt(name: str) -> int:
    """Return which attempt this is, by a file in the folder of the process: the next one goes on counting."""
    with Path("attempts.txt").open("a+") as file:
        file.write(f"{name}\n")
        file.seek(0)
        return file.read().splitlines().count(name)


async def run(functions: SdkFunctions, folder: Path, name: str, clock: FastClock, dies_at: int | None) -> None:
    """Run until the scenario has ended, and write what is found; or until this process has made its n-th commit."""
    os.chdir(folder)
    store = ObservedStore(SqliteStore(folder))
    if dies_at is not None:
        crash_points.arm(f"after-commit:{dies_at}")
    engine = DurableTask(functions, store, DurableSettings(), clock)
    await engine.start()
    await store.until_ended(name, _GUARD_SECONDS)
    stored = await store.orchestration(name)
    assert stored is not None
    entities = {entity.id.key: entity.state for entity in await store.list_entities("@counter@", "", None)}
    found = {"status": stored.instance.status.value, "output": json.loads(stored.instance.output or "null")}
    found |= {"killed": dies_at is None, "entities": entities, "twice": happened_twice(stored.history)}
    (folder / FOUND).write_text(json.dumps(found), encoding="utf-8")
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


def killed_runs(functions: SdkFunctions, folder: Path, name: str) -> list[Any]:
    """Return what was found for each n. Raises `ChildProcessError` where a process failed."""
    found, ended, written, began = [], -9, folder / "written", time.monotonic()
    must_end(forked(lambda: begin(written, name, FastClock(began=began))))  # it has threads, and forks must have none
    while ended == -9:
        place, clock = shutil.copytree(written, folder / str(len(found) + 1)), FastClock(began=began)
        ended = forked(partial(run, functions, place, name, clock, len(found) + 1))
        must_end(forked(partial(run, functions, place, name, clock, None)) if ended == -9 else ended)
        found.append(json.loads((place / FOUND).read_text(encoding="utf-8")))
    return found


def must_end(code: int) -> None:
    """Go no further with a scenario of which a process failed."""
    if code != 0:
        raise ChildProcessError(code)


def main(folder: Path) -> None:
    """Run each scenario that is asked for."""
    functions = SdkFunctions(build_app(count_attempt))
    DurableTask(functions, SqliteStore(folder), DurableSettings(), FastClock())  # compiles its patterns for all forks
    gc.freeze()  # a collection in a fork would copy all of this
    for name in map(str.strip, sys.stdin):
        found = None
        with suppress(ChildProcessError):
            found = killed_runs(functions, folder / name, name)
        print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
