"""The corpus through the real SDK: plain, and with the engine killed at every single commit."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Sequence

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

_BY_NAME = [pytest.param(scenario, id=scenario.name) for scenario in SCENARIOS]
_ENDS = (events.TaskCompleted, events.TaskFailed, events.ChildCompleted, events.ChildFailed)


async def _run(
    scenario: Scenario, functions: SdkFunctions, store: ObservedStore, clock: FastClock, unkind: Unkind = KIND
) -> bool:
    """Run until the scenario has ended, or the store has died; say whether it lives."""
    engine = DurableTask(functions, store, DurableSettings(), clock, unkind=unkind)
    await engine.start()
    ended = asyncio.ensure_future(store.until_ended(scenario.name))
    died = asyncio.ensure_future(store.died.wait())
    await asyncio.wait({ended, died}, timeout=GUARD_SECONDS, return_when=asyncio.FIRST_COMPLETED)
    lives = not store.died.is_set()
    died.cancel()
    if lives:
        await ended
    ended.cancel()
    await engine.stop(0)
    return lives


async def _check(scenario: Scenario, store: MemoryStore) -> None:
    stored = await store.orchestration(scenario.name)
    assert stored is not None
    scenario.check(stored.instance.status.value, json.loads(stored.instance.output or "null"))
    _check_history(stored.history)


def _check_history(history: Sequence[events.Event]) -> None:
    """Each request is in it once, each end once, and each timer fired once."""
    requests = Counter(event.event_id for event in history if event.event_id >= 0)
    ends = Counter(event.task_id for event in history if isinstance(event, _ENDS))
    fired = Counter(event.timer_id for event in history if isinstance(event, events.TimerFired))
    assert all(count == 1 for counts in (requests, ends, fired) for count in counts.values())


@pytest.mark.behaviour("engine.sdk-scenarios")
@pytest.mark.parametrize("scenario", _BY_NAME)
async def test_a_scenario_of_the_real_sdk_ends_as_it_must(scenario: Scenario) -> None:
    """Every feature of the protocol once, through the functions that the SDK made."""
    inner, clock = MemoryStore(), FastClock()
    await write_down(scenario, inner, clock)
    assert await _run(scenario, SdkFunctions(build_app()), ObservedStore(inner), clock)
    await _check(scenario, inner)


_SEEDS = range(repeated(3, exploring=60))
_TELLS_WHAT_CAME = ("collector", "two_events", "entities", "open_work")
"""Their output says what came, and in which order."""


@pytest.mark.behaviour("engine.unkind-seeds")
@pytest.mark.parametrize("scenario", _BY_NAME)
async def test_a_scenario_ends_as_it_must_whatever_the_real_engine_may_do(scenario: Scenario, seed: int) -> None:
    """Messages twice, late and in another order, episodes and activities done again, two workers of one partition."""
    for number in _SEEDS:
        inner, clock = MemoryStore(), FastClock()
        await write_down(scenario, inner, clock)
        unkind = Seeded(1000 * seed + number, faster=100)
        assert await _run(scenario, SdkFunctions(build_app()), ObservedStore(inner), clock, unkind), unkind.struck
        stored = await inner.orchestration(scenario.name)
        assert stored is not None
        requests = Counter(event.event_id for event in stored.history if event.event_id >= 0)
        assert set(requests.values()) <= {1}, unkind.struck
        if scenario.name not in _TELLS_WHAT_CAME:
            scenario.check(stored.instance.status.value, json.loads(stored.instance.output or "null"))
