"""The step journal under SIGKILL: a real host killed while runs stand around each of their records.

One process has a run standing at every point at once, so one kill shows them all; a second process goes on. What was
done is counted by the outside. Some tools are an MCP server's in a process of its own, or another agent.
"""

from __future__ import annotations

import asyncio

import pytest

from tests.faults.killed_runs import KilledRuns, cut_short, killed_and_finished
from tests.faults.planned_app import PlannedApp, points
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


@pytest.fixture(scope="module")
def seen(log_settings: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> KilledRuns:
    """Each run by its agent and the point at which it was killed."""
    return asyncio.run(killed_and_finished(PlannedApp(tmp_path_factory.mktemp("killed"), log_settings), POINTS))


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
