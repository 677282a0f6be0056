"""The corpus and random programs through the real SDK: plain, with engines dead at commits, on an unkind engine.

The gate plays a few programs, in some seconds; `--explore` plays many.
"""

from __future__ import annotations

import asyncio
import itertools
import json
from collections import Counter
from collections.abc import Sequence

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from devhost.durable.unkind import Seeded
from tests.devhost.durable import programs
from tests.devhost.durable.scenario_app import build_app
from tests.devhost.durable.scenarios import SCENARIOS, Play, Scenario
from tests.support.seeds import repeated

BY_NAME = [pytest.param(scenario, id=scenario.name) for scenario in SCENARIOS]
SEEDS = range(repeated(2, exploring=60))
TELLS_WHAT_CAME = ("collector", "two_events", "entities", "open_work")
"""Their output says what came, and in which order."""
COUNT = repeated(50, exploring=2000)
SLOWLY = settings(max_examples=COUNT, deadline=None, suppress_health_check=list(HealthCheck), database=None)


@pytest.mark.behaviour("engine.sdk-scenarios")
@pytest.mark.parametrize("scenario", BY_NAME)
async def test_a_scenario_of_the_real_sdk_ends_as_it_must(scenario: Scenario, caplog: pytest.LogCaptureFixture) -> None:
    """Operations that fail are told to their callers, so the log has none of them."""
    play = Play(scenario, build_app())
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
        play = Play(scenario, build_app())
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
        play, unkind = Play(scenario, build_app()), Seeded(1000 * seed + number, faster=100)
        await play.write_down()
        assert await play.run(unkind=unkind), unkind.struck
        stored = await play.store.orchestration(scenario.name)
        assert stored is not None
        requests = Counter(event.event_id for event in stored.history if event.event_id >= 0)
        assert set(requests.values()) <= {1}, unkind.struck
        if scenario.name not in TELLS_WHAT_CAME:
            scenario.check(stored.instance.status.value, json.loads(stored.instance.output or "null"))


@pytest.mark.slow
@pytest.mark.behaviour("engine.random-programs")
@pytest.mark.parametrize("dies", [False, True], ids=["plain", "dying"])
@SLOWLY
@given(program=programs.PROGRAMS, deaths=st.lists(st.integers(1, 25), min_size=1, max_size=3))
def test_any_program_ends_as_it_must(dies: bool, program: Sequence[programs.Step], deaths: list[int]) -> None:
    """Activities, retries, timers, children, entities, events, in trees of task_all and task_any; engines may die."""

    async def play() -> None:
        played = Play(programs.scenario_of(program), programs.build_app())
        await played.write_down()
        for dies_at in [*(deaths if dies else []), None]:
            await played.run(dies_at=dies_at)
        await played.check()

    asyncio.run(play())
