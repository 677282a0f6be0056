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


@pytest.fixture(scope="module")
def seen(run_log_settings: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], Seen]:
    """Each run by its agent and the point at which it was killed."""
    return asyncio.run(killed_and_finished(PlannedApp(tmp_path_factory.mktemp("killed"), run_log_settings)))


async def killed_and_finished(app: PlannedApp) -> dict[tuple[str, str], Seen]:
    """Have every run stand at its point, kill the process, and let another one end the runs."""
    with app.host(stands=True) as host:
        runs = await app.stand(host, {"Joker": points(), "Harmless": points(when=["after"])})
    at_kill = await app.records(runs)
    with app.host() as host:
        outcomes = await app.outcomes(host, runs)
    return {(run.agent, run.point): Seen(at_kill[run], outcome, app.counted(run)) for run, outcome in outcomes.items()}


@pytest.mark.behaviour("journal.nothing-twice")
@pytest.mark.parametrize("point", points())
def test_a_host_killed_around_a_record_does_nothing_recorded_again(
    seen: dict[tuple[str, str], Seen], point: str
) -> None:
    """No tool twice; a model call only if its answer was not recorded. It completes unless a tool was cut short."""
    run = seen["Joker", point]

    assert run.again <= {unrecorded_model_call(run.at_kill)}
    if cut_short(run.at_kill):
        assert run.outcome["error"]["code"] == "run_interrupted"
    else:
        assert (run.outcome["status"], run.outcome["response"], len(run.counted)) == ("success", "all done", 9)


@pytest.mark.behaviour("journal.idempotent-tools")
@pytest.mark.parametrize("point", points(when=["after"]))
def test_a_killed_host_calls_tools_again_that_do_no_harm(seen: dict[tuple[str, str], Seen], point: str) -> None:
    """Only those that were cut short, under the same key; and the run completes."""
    run = seen["Harmless", point]
    tools_again = {what.partition("-")[2] for what in run.again if not what.startswith("model")}

    assert (run.outcome["status"], len(run.counted)) == ("success", 9)
    assert tools_again <= cut_short(run.at_kill)
