"""The corpus: each scenario of the scenario app, the events it is given, and how it must end."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from devhost.durable.clock import Clock
from devhost.durable.hub import TaskHub
from devhost.durable.ledger import Ledger
from devhost.durable.store.contract import Store

_FAILED = "Orchestrator function '{0}' failed: "


@dataclass(frozen=True)
class Scenario:
    """One orchestration, started under its own name; `output` is what it must end with, or how that begins."""

    name: str
    output: object
    events: Sequence[object] = ()
    given: object = None
    status: str = "Completed"

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
    Scenario("entities", [7, 7, "kaboom", [0, 1, 2]]),
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


async def write_down(scenario: Scenario, store: Store, clock: Clock) -> None:
    """Commit the start and the events of a scenario, with no worker to act on them yet."""
    store.open()
    hub = TaskHub(Ledger(store, clock, lambda target, due: None), clock)
    # The SDK's client sends JSON text inside a JSON string.
    given = None if scenario.given is None else json.dumps(json.dumps(scenario.given))
    await hub.start(scenario.name, scenario.name, given)
    for event in scenario.events:
        await hub.raise_event(scenario.name, "go", json.dumps(event))
