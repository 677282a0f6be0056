"""The corpus: each scenario of the scenario app, the events it is given, and how it must end; and how one is played."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import azure.durable_functions as df

from devhost.durable import events
from devhost.durable.engine import DurableTask
from devhost.durable.hub import TaskHub
from devhost.durable.ledger import Ledger
from devhost.durable.settings import DurableSettings
from devhost.durable.store.contract import InstanceFilter
from devhost.durable.unkind import KIND, Unkind
from tests.devhost.durable.sdk_functions import SdkFunctions
from tests.support.engine_clocks import FastClock
from tests.support.memory_store import MemoryStore
from tests.support.observed_store import GUARD_SECONDS, ObservedStore

_FAILED = "Orchestrator function '{0}' failed: "


@dataclass(frozen=True)
class Scenario:
    """One orchestration, started under its own name; `output` is what it must end with, or how that begins.

    `counted` are the states that entities must have in the end, by their keys.
    """

    name: str
    output: object
    events: Sequence[object] = ()
    given: object = None
    status: str = "Completed"
    counted: Mapping[str, str] = field(default_factory=dict)

    def check(self, status: str, output: object) -> None:
        assert status == self.status
        if status == "Failed":
            assert isinstance(output, str)
            assert output.startswith(_FAILED.format(self.name) + str(self.output))
        else:
            assert output == self.output


def _failing(name: str, error: str) -> Scenario:
    return Scenario(name, error, status="Failed")


SCENARIOS = (
    Scenario("chain", [1, ["a", {"p": 1}], {"in": 1}], given={"in": 1}),
    Scenario("fan", [0, 1, 2, 3, 4]),
    Scenario("retry_ok", "ok"),
    Scenario("retry_out", "Activity function 'flaky' failed: ValueError:"),
    Scenario("retry_among_others", [["ok", None, "ok", 7], "after"]),
    Scenario("approval", ["approved", {"ok": 1}], events=[{"ok": 1}]),
    Scenario("timeout", "timeout"),
    Scenario("open_work", "quick"),
    Scenario(
        "parent",
        [
            {"child": {"v": 1}},
            "Orchestrator function 'child' failed: child bad",
            [{"child": 0}, {"child": 1}, {"child": 2}],
        ],
    ),
    Scenario("child_retry", "caught Orchestrator function 'child' failed: child bad"),
    Scenario("eternal", 3),
    Scenario("collector", [1, 2, 3], events=[1, 2, 3]),
    Scenario(
        "entities",
        [7, 7, "kaboom", [0, 1, 2]],
        counted={"entities": "7", "entities-0": "0", "entities-1": "1", "entities-2": "2"},
    ),
    _failing("fails", "orchestrator bad"),
    _failing("missing_activity", "The function 'nobody' doesn't exist, is disabled, or is not an activity function."),
    _failing("missing_entity", "The function 'nobody' doesn't exist, is disabled, or is not an entity function."),
    _failing("missing_child", "The function 'nobody' doesn't exist, is disabled, or is not an orchestrator function."),
    Scenario("http_caller", "127.0.0.1:9)"),
    Scenario("two_events", [1, 2], events=[1, 2]),
    Scenario("new_ids", True),
    Scenario("custom_status", "z", events=[0]),
    Scenario("shrinking_any", ["slow", "slow", "slow"]),
    Scenario("nested", [1, 2]),
)


_ENDS = (events.TaskCompleted, events.TaskFailed, events.ChildCompleted, events.ChildFailed)
_REQUESTS = (events.TaskScheduled, events.ChildCreated, events.TimerCreated)


class Play:
    """A scenario on one store, through as many engines as it takes."""

    def __init__(self, scenario: Scenario, app: df.DFApp) -> None:
        self.scenario, self.store = scenario, MemoryStore()
        self._clock, self._functions = FastClock(), SdkFunctions(app)

    async def write_down(self) -> None:
        """Commit the start and the events, with nobody to act on them yet."""
        hub = TaskHub(Ledger(self.store, self._clock, lambda target, due: None), self._clock)
        # The SDK's client sends JSON text inside a JSON string.
        given = None if self.scenario.given is None else json.dumps(json.dumps(self.scenario.given))
        await hub.start(self.scenario.name, self.scenario.name, given)
        for event in self.scenario.events:
            await hub.raise_event(self.scenario.name, "go", json.dumps(event))

    async def run(self, *, dies_at: int | None = None, unkind: Unkind = KIND) -> bool:
        """Run until nothing is under way, or until the n-th commit, of which nobody hears; say whether it lives.

        An unkind engine is run until the scenario has ended: what is late may be under way for ever.
        """
        store = ObservedStore(self.store, dies_at)
        engine = DurableTask(self._functions, store, DurableSettings(), self._clock, unkind=unkind)
        await engine.start()
        over = [
            asyncio.ensure_future(work)
            for work in (store.until(self._is_over if unkind is KIND else self._has_ended), store.died.wait())
        ]
        done, late = await asyncio.wait(over, timeout=2 * GUARD_SECONDS, return_when=asyncio.FIRST_COMPLETED)
        for work in late:
            work.cancel()
        received = await engine.describe()
        await engine.stop(0)
        assert done, "\n".join(received)
        done.pop().result()
        return not store.died.is_set()

    async def _is_over(self) -> bool:
        return not await self.store.messages(None, 1)

    async def _has_ended(self) -> bool:
        stored = await self.store.orchestration(self.scenario.name)
        return stored is not None and stored.instance.status.is_terminal

    async def check(self) -> None:
        """Its end; each request, each end of one and each firing is in every history once."""
        stored = await self.store.orchestration(self.scenario.name)
        assert stored is not None
        self.scenario.check(stored.instance.status.value, json.loads(stored.instance.output or "null"))
        counters = await self.store.list_entities("@counter@", "", None)
        states = {entity.id.key: entity.state for entity in counters}
        assert states == dict(self.scenario.counted)
        for instance in await self.store.list_orchestrations(InstanceFilter(), "", None):
            await self._check_history(instance.instance_id)

    async def _check_history(self, instance_id: str) -> None:
        stored = await self.store.orchestration(instance_id)
        history = stored.history if stored else ()
        requests = Counter(event.event_id for event in history if event.event_id >= 0)
        ends = Counter(event.task_id for event in history if isinstance(event, _ENDS))
        fired = Counter(event.timer_id for event in history if isinstance(event, events.TimerFired))
        assert all(count == 1 for counts in (requests, ends, fired) for count in counts.values())
        if self.scenario.given is not None and stored is not None and stored.instance.name == "play":
            assert stored.instance.status.value == "Completed", stored.instance.output
            asked = sum(isinstance(event, _REQUESTS) for event in history)
            assert sum(ends.values()) + sum(fired.values()) == asked
