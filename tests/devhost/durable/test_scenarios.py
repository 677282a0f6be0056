"""The corpus through the real SDK: plain, with the engine dead at each commit, and on an unkind engine."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections import Counter

import pytest

from devhost.durable import events
from devhost.durable.engine import DurableTask
from devhost.durable.settings import DurableSettings
from devhost.durable.unkind import KIND, Seeded, Unkind
from tests.devhost.durable.scenario_app import build_app
from tests.devhost.durable.scenarios import SCENARIOS, Scenario, write_down
from tests.devhost.durable.sdk_functions import SdkFunctions
from tests.support.engine_clocks import FastClock
from tests.support.memory_store import MemoryStore
from tests.support.observed_store import GUARD_SECONDS, ObservedStore
from tests.support.seeds import repeated

BY_NAME = [pytest.param(scenario, id=scenario.name) for scenario in SCENARIOS]
ENDS = (events.TaskCompleted, events.TaskFailed, events.ChildCompleted, events.ChildFailed)
SEEDS = range(repeated(3, exploring=60))
TELLS_WHAT_CAME = ("collector", "two_events", "entities", "open_work")
"""Their output says what came, and in which order."""
COUNTED = {"entities": "7", "entities-0": "0", "entities-1": "1", "entities-2": "2"}
"""What the entities of the scenario `entities` have in the end."""


class Play:
    """A scenario that is written down in a store, with nobody to act on it yet."""

    def __init__(self, scenario: Scenario) -> None:
        self.store = MemoryStore()
        self._scenario, self._clock = scenario, FastClock()
        self._functions = SdkFunctions(build_app())

    async def write_down(self) -> None:
        await write_down(self._scenario, self.store, self._clock)

    async def run(self, *, dies_at: int | None = None, unkind: Unkind = KIND) -> bool:
        """Run until the scenario has ended, or the store has died; say whether it lives."""
        store = ObservedStore(self.store, dies_at)
        engine = DurableTask(self._functions, store, DurableSettings(), self._clock, unkind=unkind)
        await engine.start()
        ended = asyncio.ensure_future(store.until_ended(self._scenario.name))
        died = asyncio.ensure_future(store.died.wait())
        await asyncio.wait({ended, died}, timeout=GUARD_SECONDS, return_when=asyncio.FIRST_COMPLETED)
        lives = not store.died.is_set()
        died.cancel()
        if lives:
            await ended
        ended.cancel()
        await engine.stop(0)
        return lives

    async def check(self) -> None:
        """Its end; each request, each end of one and each firing is in the history once."""
        stored = await self.store.orchestration(self._scenario.name)
        assert stored is not None
        self._scenario.check(stored.instance.status.value, json.loads(stored.instance.output or "null"))
        requests = Counter(event.event_id for event in stored.history if event.event_id >= 0)
        ends = Counter(event.task_id for event in stored.history if isinstance(event, ENDS))
        fired = Counter(event.timer_id for event in stored.history if isinstance(event, events.TimerFired))
        assert all(count == 1 for counts in (requests, ends, fired) for count in counts.values())
        if self._scenario.name == "entities":
            counters = await self.store.list_entities("@counter@", "", None)
            assert {entity.id.key: entity.state for entity in counters} == COUNTED


@pytest.mark.behaviour("engine.sdk-scenarios")
@pytest.mark.parametrize("scenario", BY_NAME)
async def test_a_scenario_of_the_real_sdk_ends_as_it_must(scenario: Scenario, caplog: pytest.LogCaptureFixture) -> None:
    """Operations that fail are told to their callers, so the log has none of them."""
    play = Play(scenario)
    await play.write_down()

    assert await play.run()
    await play.check()
    assert "no caller sees it" not in caplog.text


@pytest.mark.slow
@pytest.mark.behaviour("engine.restart-at-every-commit")
@pytest.mark.behaviour("engine.entity-state-once")
@pytest.mark.parametrize("scenario", BY_NAME)
async def test_a_scenario_ends_the_same_when_its_engine_dies_at_any_commit(scenario: Scenario) -> None:
    """The n-th commit is kept and nobody hears of it, for each n that a run comes to."""
    for number in itertools.count(1):
        play = Play(scenario)
        await play.write_down()
        lives = await play.run(dies_at=number)
        if not lives:
            await play.run()
        await play.check()
        if lives:
            break

    assert number > 1


@pytest.mark.behaviour("engine.unkind-seeds")
@pytest.mark.parametrize("scenario", BY_NAME)
async def test_a_scenario_ends_as_it_must_whatever_the_real_engine_may_do(scenario: Scenario, seed: int) -> None:
    """Messages twice, late and in another order, episodes and activities done again, two workers of one partition."""
    for number in SEEDS:
        play, unkind = Play(scenario), Seeded(1000 * seed + number, faster=100)
        await play.write_down()
        assert await play.run(unkind=unkind), unkind.struck
        stored = await play.store.orchestration(scenario.name)
        assert stored is not None
        requests = Counter(event.event_id for event in stored.history if event.event_id >= 0)
        assert set(requests.values()) <= {1}, unkind.struck
        if scenario.name not in TELLS_WHAT_CAME:
            scenario.check(stored.instance.status.value, json.loads(stored.instance.output or "null"))
