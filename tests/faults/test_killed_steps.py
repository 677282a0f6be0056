"""The step journal under SIGKILL: a real host killed while runs stand around each of their records.

One process has a run standing at every point at once, so one kill shows them all; a second process goes on. What was
done is counted by the outside.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from hosting.run_record import RunRecord
from tests.faults.planned_app import PlannedApp, cut_short, points, unrecorded_model_call

pytestmark = pytest.mark.slow

# How often each agent calls its model and its tools, and the points at which its runs are killed.
CALLS = {"Joker": 4 + 5, "Harmless": 4 + 5, "Served": 3 + 2}
POINTS = {"Joker": points(12), "Harmless": points(12, ["after"]), "Served": points(6)}
AT_MOST_ONCE = [(agent, point) for agent in ("Joker", "Served") for point in POINTS[agent]]


@dataclass(frozen=True)
class Seen:
    """A run as its log had it at the kill, how it ended in the next process, and what was done in both."""

    at_kill: RunRecord
    outcome: Mapping[str, Any]
    counted: Counter[str]

    @property
    def again(self) -> set[str]:
        """What was done more than once."""
        return {what for what, count in self.counted.items() if count > 1}

    @property
    def tools_again(self) -> set[str]:
        """The keys of the tool calls that were made more than once."""
        return {what.rpartition(" ")[2].partition("-")[2] for what in self.again if not what.startswith("model")}


@pytest.fixture(scope="module")
def seen(run_log_settings: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], Seen]:
    """Each run by its agent and the point at which it was killed."""
    return asyncio.run(killed_and_finished(PlannedApp(tmp_path_factory.mktemp("killed"), run_log_settings)))


async def killed_and_finished(app: PlannedApp) -> dict[tuple[str, str], Seen]:
    """Have every run stand at its point, kill the process, and let another one end the runs."""
    with app.host(stands=True) as host:
        runs = await app.stand(host, POINTS)
    at_kill = await app.records(runs)
    with app.host() as host:
        outcomes = await app.outcomes(host, runs)
    return {(run.agent, run.point): Seen(at_kill[run], outcome, app.counted(run)) for run, outcome in outcomes.items()}


@pytest.mark.behaviour("journal.nothing-twice")
@pytest.mark.parametrize(("agent", "point"), AT_MOST_ONCE)
def test_a_host_killed_around_a_record_does_nothing_recorded_again(
    seen: dict[tuple[str, str], Seen], agent: str, point: str
) -> None:
    """No tool twice; a model call only if its answer was not recorded. It completes unless a tool was cut short."""
    run = seen[agent, point]

    assert run.again <= {unrecorded_model_call(run.at_kill)}
    if cut_short(run.at_kill):
        assert run.outcome["error"]["code"] == "run_interrupted"
    else:
        assert (run.outcome["status"], run.outcome["response"]) == ("success", "all done")
        assert len(run.counted) == CALLS[agent]


@pytest.mark.behaviour("journal.idempotent-tools")
@pytest.mark.parametrize("point", POINTS["Harmless"])
def test_a_killed_host_calls_tools_again_that_do_no_harm(seen: dict[tuple[str, str], Seen], point: str) -> None:
    """Only those that were cut short, under the same key; and the run completes."""
    run = seen["Harmless", point]

    assert (run.outcome["status"], len(run.counted)) == ("success", CALLS["Harmless"])
    assert run.tools_again <= cut_short(run.at_kill)
