"""Programs made by hypothesis: each ends as it must, plain and with the engine killed at random commits.

The gate plays a few of each kind, in some seconds; `--explore` plays many.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from devhost.durable import events
from devhost.durable.engine import DurableTask
from devhost.durable.hub import TaskHub
from devhost.durable.ledger import Ledger
from devhost.durable.settings import DurableSettings
from devhost.durable.store.contract import InstanceFilter
from tests.devhost.durable.programs import PROGRAMS, Step, as_input, build_app, event_names, expected, expected_sums
from tests.devhost.durable.sdk_functions import SdkFunctions
from tests.support.engine_clocks import FastClock
from tests.support.memory_store import MemoryStore
from tests.support.observed_store import GUARD_SECONDS, ObservedStore
from tests.support.seeds import repeated

_COUNT = repeated(75, exploring=2000)
_SLOWLY = settings(max_examples=_COUNT, deadline=None, suppress_health_check=list(HealthCheck), database=None)
_ENDS = (events.TaskCompleted, events.TaskFailed, events.ChildCompleted, events.ChildFailed)
_ID = "p"


class Play:
    """One program on one store, through as many engines as it takes."""

    def __init__(self, program: list[Step]) -> None:
        self._program = program
        self._inner = MemoryStore()
        self._clock = FastClock()
        self._functions = SdkFunctions(build_app())

    async def write_down(self) -> None:
        """Commit the start and the events, with nobody to act on them yet."""
        hub = TaskHub(Ledger(self._inner, self._clock, lambda target, due: None), self._clock)
        await hub.start("play", _ID, as_input(self._program))
        for name in event_names(self._program, _ID):
            await hub.raise_event(_ID, name, '"raised"')

    async def run(self, dies_at: int | None = None) -> None:
        """Run until nothing is under way, or until the n-th commit, of which nobody hears."""
        store = ObservedStore(self._inner, dies_at)
        engine = DurableTask(self._functions, store, DurableSettings(), self._clock)
        await engine.start()
        over = [asyncio.ensure_future(work) for work in (store.until(self._is_over), store.died.wait())]
        done, late = await asyncio.wait(over, timeout=2 * GUARD_SECONDS, return_when=asyncio.FIRST_COMPLETED)
        for work in late:
            work.cancel()
        received = await engine.describe()
        await engine.stop(0)
        assert done, "\n".join(received)
        done.pop().result()

    async def _is_over(self) -> bool:
        return not await self._inner.messages(None, 1)

    async def check(self) -> None:
        """The output, the sums, and each request, end and timer of every history once."""
        stored = await self._inner.orchestration(_ID)
        assert stored is not None
        assert stored.instance.status.value == "Completed", stored.instance.output
        assert json.loads(stored.instance.output or "") == expected(self._program)
        entities = await self._inner.list_entities("@sum@", "", None)
        assert {entity.id.key: int(entity.state or "0") for entity in entities} == expected_sums(self._program)
        for instance in await self._inner.list_orchestrations(InstanceFilter(), "", None):
            assert instance.status.value == "Completed"
            await self._check_history(instance.instance_id)

    async def _check_history(self, instance_id: str) -> None:
        stored = await self._inner.orchestration(instance_id)
        history = stored.history if stored else ()
        requests = Counter(event.event_id for event in history if event.event_id >= 0)
        ends = Counter(event.task_id for event in history if isinstance(event, _ENDS))
        fired = Counter(event.timer_id for event in history if isinstance(event, events.TimerFired))
        assert all(count == 1 for counts in (requests, ends, fired) for count in counts.values())
        assert sum(ends.values()) + sum(fired.values()) == len(_requested(history))


def _requested(history: tuple[events.Event, ...]) -> list[events.Event]:
    kinds = (events.TaskScheduled, events.ChildCreated, events.TimerCreated)
    return [event for event in history if isinstance(event, kinds)]


@pytest.mark.slow
@pytest.mark.behaviour("engine.random-programs")
@_SLOWLY
@given(PROGRAMS)
def test_any_program_ends_as_it_must(program: list[Step]) -> None:
    """Activities, retries, timers, sub-orchestrations, entities, events, in trees of task_all and task_any."""

    async def play() -> None:
        played = Play(program)
        await played.write_down()
        await played.run()
        await played.check()

    asyncio.run(play())


@pytest.mark.slow
@pytest.mark.behaviour("engine.random-programs")
@_SLOWLY
@given(PROGRAMS, st.lists(st.integers(1, 25), min_size=1, max_size=3))
def test_any_program_ends_the_same_when_engines_die_on_the_way(program: list[Step], deaths: list[int]) -> None:
    async def play() -> None:
        played = Play(program)
        await played.write_down()
        for dies_at in deaths:
            await played.run(dies_at)
        await played.run()
        await played.check()

    asyncio.run(play())
