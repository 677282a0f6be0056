"""The step journal under SIGKILL: a real host killed while runs stand around each of their records.

One process has a run standing at every point at once, so one kill shows them all; a second process goes on. What was
done is counted by the outside. Some tools are an MCP server's in a process of its own, or another agent.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from hosting.core.thread.events import ModelResult, ToolResult
from hosting.core.thread.run import Run
from tests.faults.planned_app import PlannedApp, cut_short, points
from tests.support.kept_in import over

pytestmark = [pytest.mark.slow, over("log_settings", "sqlite")]

# How often each agent calls models and tools, and the points at which its runs are killed: of the first, a claim, the
# model's answers with the begin of what they ask for, five results, the end.
CALLS = {"Joker": 4 + 5, "Harmless": 4 + 5, "Served": 3 + 2, "Asking": 2 + 3 + 2}
POINTS = {
    "Joker": points(1 + 3 + 5 + 1),
    "Harmless": points(1 + 3 + 5 + 1, ["after"]),
    "Served": points(6),
    "Asking": points(8),
}
EACH = {
    "Joker": [pytest.mark.behaviour("journal.nothing-twice"), pytest.mark.behaviour("journal.interrupted-result")],
    "Served": [pytest.mark.behaviour("journal.mcp-tools")],
    "Asking": [pytest.mark.behaviour("journal.agents-as-tools")],
}


@dataclass(frozen=True)
class KilledRun:
    """A run as its log had it at the kill and at its end, how the next process told that, and what was done in both."""

    at_kill: Run
    at_end: Run
    outcome: Mapping[str, Any]
    counted: Counter[str]

    @property
    def again(self) -> set[str]:
        return {what for what, count in self.counted.items() if count > 1}

    @property
    def tools_again(self) -> set[str]:
        """The keys of the tool calls that were made more than once."""
        return {what.rpartition(" ")[2].partition("-")[2] for what in self.again if "model" not in what}

    @property
    def is_cut_short(self) -> bool:
        """Tell whether a tool was at work that may not be called again; `helper` is an agent, and may."""
        return any(step.name != "helper" for step in cut_short(self.at_kill))

    @property
    def interrupted(self) -> set[str]:
        """The keys of the tool calls of which the next process recorded that nobody knows what came of them."""
        return {step.key for step in self.at_end.steps if isinstance(step, ToolResult) and step.interrupted}

    @property
    def unrecorded_model_calls(self) -> set[str]:
        """The model calls that another attempt has to make again if they were made: the next one of each agent."""
        answers = [step for step in self.at_kill.steps if isinstance(step, ModelResult)]
        inner = sum(1 for answer in answers if answer.within)
        return {f"model {1 + len(answers) - inner}", f"inner model {1 + inner}"}


KilledRuns = dict[tuple[str, str], KilledRun]


async def killed_and_finished(app: PlannedApp) -> KilledRuns:
    """Have a run of each agent stand at each of its points, kill the process, and let another one end them all."""
    with app.host(stands=True) as host:
        runs = await app.stand(host, POINTS)
    at_kill = await app.records(runs)
    with app.host() as host:
        outcomes = await app.outcomes(host, runs)
    at_end = await app.records(runs)
    return {
        (run.agent, run.point): KilledRun(at_kill[run], at_end[run], outcome, app.counted(run))
        for run, outcome in outcomes.items()
    }


@pytest.fixture(scope="module")
def seen(log_settings: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> KilledRuns:
    """Each run by its agent and the point at which it was killed."""
    return asyncio.run(killed_and_finished(PlannedApp(tmp_path_factory.mktemp("killed"), log_settings)))


@pytest.mark.parametrize(
    ("agent", "point"),
    [pytest.param(agent, point, marks=marks) for agent, marks in EACH.items() for point in POINTS[agent]],
)
def test_a_host_killed_around_a_record_does_nothing_recorded_again(seen: KilledRuns, agent: str, point: str) -> None:
    """No tool twice; a model call only if its answer was not recorded. It completes unless a tool was cut short."""
    run = seen[agent, point]

    assert run.again <= run.unrecorded_model_calls
    if run.is_cut_short:
        assert run.outcome["error"]["code"] == "run_interrupted"
        assert agent == "Asking" or run.interrupted == {step.key for step in cut_short(run.at_kill)}
    else:
        assert (run.outcome["response"], len(run.counted)) == ("all done", CALLS[agent])


@pytest.mark.behaviour("journal.idempotent-tools")
@pytest.mark.parametrize("point", POINTS["Harmless"])
def test_a_killed_host_calls_tools_again_that_do_no_harm(seen: KilledRuns, point: str) -> None:
    """Only those that were cut short, under the same key; and the run completes."""
    run = seen["Harmless", point]

    assert (run.outcome["status"], len(run.counted)) == ("success", CALLS["Harmless"])
    assert run.tools_again <= {step.key for step in cut_short(run.at_kill)}
