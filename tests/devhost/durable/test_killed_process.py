"""A real process, killed as `kill -9` does at each named point and at random moments; and one whose disk is full."""

from __future__ import annotations

import os
import random
import re
import signal
import sys
import threading
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import pytest

from devhost.durable.crash import CrashPoints
from devhost.durable.events import Event, TimerFired
from devhost.durable.records import EntityId
from devhost.durable.store.reader import reader_beside
from devhost.durable.store.sqlite import SqliteStore
from tests.devhost.durable.killed_program import INSTANCE
from tests.support.seeds import repeated
from tests.support.warm_python import Process, start_python

POINTS = {
    "before-commit": 1,
    "inside-commit": 3,
    "after-commit": 7,
    "before-orchestrator": 3,
    "after-orchestrator": 1,
    "before-activity": 2,
    "after-activity": 1,
    "before-entity": 1,
    "after-entity": 2,
}
"""Where the process is killed, and at which of its passings."""

ROUNDS = 30
KILLS = repeated(5, exploring=200)
MOST_KILLS = min(KILLS, 25)
"""Of one orchestration, which then is left to end."""
COMMITS = 20
GUARD_SECONDS = 60.0
LONGEST_LIFE_SECONDS = 0.25
# Where there is no such signal, the process ends with this code instead (`devhost/durable/crash.py`).
BY_SIGKILL = -signal.SIGKILL if hasattr(signal, "SIGKILL") else 137


def started(folder: Path, rounds: int, is_first: bool, environ: Mapping[str, str] | None = None) -> Process:
    words = [str(folder), str(rounds), *(["start"] if is_first else [])]
    program = "tests.devhost.durable.killed_program"
    return start_python(program, *words, environ={**os.environ, **(environ or {})}, has_errors=True)


@pytest.mark.slow
@pytest.mark.behaviour("engine.kill-9")
@pytest.mark.behaviour("engine.entity-state-once")
@pytest.mark.parametrize("point", POINTS)
async def test_a_killed_process_goes_on_where_it_was(tmp_path: Path, point: str) -> None:
    """Same output and state; an activity may run twice, never more, and its record is there once."""
    killed = started(tmp_path, 3, is_first=True, environ={"DEVHOST_CRASH_AT": f"{point}:{POINTS[point]}"})
    printed, complained = killed.communicate()
    assert (killed.returncode, "ended" in printed) == (BY_SIGKILL, False), complained
    printed, complained = started(tmp_path, 3, is_first="open" not in printed).communicate()

    assert "ended 3\n" in printed, complained
    await check(tmp_path, rounds=3, kills=1)


@pytest.mark.slow
@pytest.mark.behaviour("engine.unkind")
def test_a_process_dies_between_sending_and_committing(tmp_path: Path) -> None:
    """Armed by the environment, with the crash point that only such an episode passes; the activity runs twice."""
    unkind = {"DEVHOST_UNKIND": "sent-not-committed journey", "DEVHOST_CRASH_AT": "after-sending"}
    first = started(tmp_path, 1, is_first=True, environ=unkind)
    first.communicate()
    printed, _ = started(tmp_path, 1, is_first=False).communicate()

    assert (first.returncode, "ended 0\n" in printed) == (-signal.SIGKILL, True)
    assert (tmp_path / "effects.txt").read_text().splitlines().count("0") >= 2


@pytest.mark.slow
@pytest.mark.behaviour("engine.random-kills")
@pytest.mark.timeout(60 * KILLS)
async def test_a_process_killed_at_random_loses_nothing_doubles_nothing_and_goes_on_at_once(
    tmp_path: Path, seed: int
) -> None:
    """As many orchestrations as it takes: each is killed on until it ends, within 2 s of work after each start."""
    kills, number, chance = 0, 0, random.Random(seed)
    while kills < KILLS:
        folder = tmp_path / str(number)
        folder.mkdir()
        here, number = 0, number + 1
        life: float | None = chance.uniform(0, LONGEST_LIFE_SECONDS)
        while (ended := run_for(folder, life, is_first=here == 0)) is None:
            here += 1
            # An orchestration that is killed for ever never ends.
            life = chance.uniform(0, LONGEST_LIFE_SECONDS) if here < MOST_KILLS else None
        kills += here
        assert ended == str(sum(range(ROUNDS)))
        await check(folder, ROUNDS, here)


def run_for(folder: Path, life: float | None, is_first: bool) -> str | None:
    """Run the program, and kill it so many seconds after it opened the folder; return its output, if it came to it."""
    process = started(folder, ROUNDS, is_first)
    assert process.stdout is not None
    assert process.stdout.readline() == "open\n", process.communicate()
    killer = threading.Timer(GUARD_SECONDS if life is None else life, process.kill)
    killer.start()
    received, _ = process.communicate()
    killer.cancel()
    went_on = re.search(r"goes on ([\d.]+)", received)
    assert went_on is None or float(went_on[1]) < 2
    ended = re.search(r"ended (.*)", received)
    return ended[1] if ended else None


async def check(folder: Path, rounds: int, kills: int) -> None:
    """Each request and its end once in the history, the entity exact, an activity at most once more per kill."""
    reader = reader_beside(folder)
    reader.open()
    stored = await reader.orchestration(INSTANCE)
    entity = await reader.entity(EntityId("tally", "t"))
    await reader.close()
    assert stored is not None
    assert entity is not None
    assert entity.state == str(rounds)
    check_history(stored.history, rounds)
    effects = Counter((folder / "effects.txt").read_text().splitlines())
    assert set(effects) == {str(number) for number in range(rounds)}
    assert sum(effects.values()) <= rounds + kills


def check_history(history: tuple[Event, ...], rounds: int) -> None:
    requests = Counter(event.event_id for event in history if event.event_id >= 0)
    ends = Counter(getattr(event, "task_id", None) for event in history)
    fired = Counter(event.timer_id for event in history if isinstance(event, TimerFired))
    del ends[None]
    assert {*requests.values(), *ends.values(), *fired.values()} == {1}
    assert len(ends) + len(fired) == 3 * rounds


def test_an_unknown_point_is_refused_by_name() -> None:
    """A misspelt point would make a test that kills nothing."""
    with pytest.raises(ValueError, match="DEVHOST_CRASH_AT names 'nowhere'; the points are before-commit, "):
        CrashPoints("nowhere:2")


@pytest.mark.slow
@pytest.mark.behaviour("engine.full-disk")
@pytest.mark.skipif(sys.platform == "win32", reason="a process's files cannot be limited there")
async def test_a_disk_that_is_full_at_every_commit_stalls_work_and_loses_none(tmp_path: Path) -> None:
    """Each step is kept once there is room, whole and in its order; the one that waits at the stop is given up whole.

    The future of that one fails, so nobody believes in it, and the next host finds nothing of it.
    """
    process = start_python("tests.devhost.durable.full_disk_program", str(tmp_path), str(COMMITS), has_errors=True)
    printed, complained = process.communicate()
    store = SqliteStore(tmp_path)
    store.open()
    found = await store.list_entities("@", "", None)
    await store.close()

    kept = [f"kept {number}" for number in range(COMMITS - 1)]
    assert printed.splitlines() == [*kept, "given up: OperationalError"], complained
    states = [(entity.id.key, len(entity.state or "")) for entity in found]
    assert states == [(f"{number:03}", 20_000) for number in range(COMMITS - 1)]
