"""The step journal under SIGKILL: a real host killed while runs stand around each of their records.

One process has a run standing at every point at once, so one kill shows them all; a second process goes on. What was
done is counted by the outside.
"""

from __future__ import annotations

import asyncio

import pytest

from tests.faults.killed_runs import KilledRuns, cut_short, killed_and_finished
from tests.faults.planned_app import PlannedApp, points

pytestmark = pytest.mark.slow

CALLS = 4 + 5  # of the model and of tools
APPENDS = 1 + 3 + 5 + 1  # a claim, the model's answers with the begin of what they ask for, five results, the end
POINTS = {"Joker": points(APPENDS), "Harmless": points(APPENDS, ["after"])}


@pytest.fixture(scope="module")
def seen(log_settings: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> KilledRuns:
    """Each run by its agent and the point at which it was killed."""
    return asyncio.run(killed_and_finished(PlannedApp(tmp_path_factory.mktemp("killed"), log_settings), POINTS))


@pytest.mark.behaviour("journal.nothing-twice")
@pytest.mark.behaviour("journal.interrupted-result")
@pytest.mark.parametrize("point", POINTS["Joker"])
def test_a_host_killed_around_a_record_does_nothing_recorded_again(seen: KilledRuns, point: str) -> None:
    """No tool twice; a model call only if its answer was not recorded. It completes unless a tool was cut short."""
    run = seen["Joker", point]

    assert run.again <= run.unrecorded_model_calls
    if run.is_cut_short:
        assert run.outcome["error"]["code"] == "run_interrupted"
        assert run.interrupted == {step.key for step in cut_short(run.at_kill)}
    else:
        assert (run.outcome["status"], run.outcome["response"], len(run.counted)) == ("success", "all done", CALLS)


@pytest.mark.behaviour("journal.idempotent-tools")
@pytest.mark.parametrize("point", POINTS["Harmless"])
def test_a_killed_host_calls_tools_again_that_do_no_harm(seen: KilledRuns, point: str) -> None:
    """Only those that were cut short, under the same key; and the run completes."""
    run = seen["Harmless", point]

    assert (run.outcome["status"], len(run.counted)) == ("success", CALLS)
    assert run.tools_again <= {step.key for step in cut_short(run.at_kill)}
