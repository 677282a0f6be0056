"""A real process killed at random moments, round after round (local-host.md, how it is proved).

The gate kills it five times, `--explore` two hundred.
"""

from __future__ import annotations

import random
import re
import threading
from collections import Counter
from pathlib import Path

import pytest

from devhost.durable.events import Event, TimerFired
from devhost.durable.records import EntityId
from devhost.durable.store.reader import reader_beside
from tests.devhost.durable.long_program import STEPS
from tests.support.seeds import repeated
from tests.support.warm_python import start_python

_KILLS = repeated(5, exploring=200)
_MOST_KILLS = min(_KILLS, 25)
"""Of one orchestration, which then is left to end."""
_GUARD_SECONDS = 60.0
_LONGEST_LIFE_SECONDS = 0.25


@pytest.mark.behaviour("engine.random-kills")
@pytest.mark.slow
@pytest.mark.timeout(60 * _KILLS)
async def test_a_process_killed_at_random_loses_nothing_doubles_nothing_and_goes_on_at_once(
    tmp_path: Path, seed: int
) -> None:
    """As many orchestrations as it takes: each is killed on until it ends, within 2 s of work after each start."""
    kills, number, chance = 0, 0, random.Random(seed)
    while kills < _KILLS:
        folder = tmp_path / str(number)
        folder.mkdir()
        here, number = 0, number + 1
        life: float | None = chance.uniform(0, _LONGEST_LIFE_SECONDS)
        while (ended := _run(folder, life, is_first=here == 0)) is None:
            here += 1
            # An orchestration that is killed for ever never ends.
            life = chance.uniform(0, _LONGEST_LIFE_SECONDS) if here < _MOST_KILLS else None
        kills += here
        assert ended == str(sum(range(STEPS)))
        await _check(folder, here)


def _run(folder: Path, life: float | None, is_first: bool) -> str | None:
    """Run the program, and kill it so many seconds after it opened the folder; return its output, if it came to it."""
    words = ["start"] if is_first else []
    process = start_python("tests.devhost.durable.long_program", str(folder), *words, has_errors=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "open\n", process.communicate()
    killer = threading.Timer(_GUARD_SECONDS if life is None else life, process.kill)
    killer.start()
    received, _ = process.communicate()
    killer.cancel()
    went_on = re.search(r"goes on ([\d.]+)", received)
    assert went_on is None or float(went_on[1]) < 2
    ended = re.search(r"ended (.*)", received)
    return ended[1] if ended else None


async def _check(folder: Path, kills: int) -> None:
    """Each request and its end once in the history, the entity exact, an activity at most once more per kill."""
    reader = reader_beside(folder)
    reader.open()
    stored = await reader.orchestration("l")
    entity = await reader.entity(EntityId("tally", "t"))
    await reader.close()
    assert stored is not None
    assert entity is not None
    assert entity.state == str(STEPS)
    _check_history(stored.history)
    effects = Counter((folder / "effects.txt").read_text().splitlines())
    assert set(effects) == {str(number) for number in range(STEPS)}
    assert sum(effects.values()) <= STEPS + kills


def _check_history(history: tuple[Event, ...]) -> None:
    requests = Counter(event.event_id for event in history if event.event_id >= 0)
    ends = Counter(getattr(event, "task_id", None) for event in history)
    fired = Counter(event.timer_id for event in history if isinstance(event, TimerFired))
    del ends[None]
    assert {*requests.values(), *ends.values(), *fired.values()} == {1}
    assert len(ends) + len(fired) == 3 * STEPS
