"""The step journal under SIGKILL where the tools are an MCP server's in a process of its own, or another agent's.

They stand on one log: what is replayed does not depend on where it was recorded.
"""

from __future__ import annotations

import asyncio

import pytest

from tests.faults.killed_runs import KilledRuns, killed_and_finished
from tests.faults.planned_app import PlannedApp, points

pytestmark = pytest.mark.slow

# How often each agent calls models and tools, and the points at which its runs are killed.
CALLS = {"Served": 3 + 2, "Asking": 2 + 3 + 2}
POINTS = {"Served": points(6), "Asking": points(8)}


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> KilledRuns:
    """Each run by its agent and the point at which it was killed."""
    return asyncio.run(killed_and_finished(PlannedApp(tmp_path_factory.mktemp("killed"), {}), POINTS))


@pytest.mark.behaviour("journal.mcp-tools")
@pytest.mark.parametrize("point", POINTS["Served"])
def test_an_mcp_server_is_not_called_again(seen: KilledRuns, point: str) -> None:
    """Both hosts have a server of their own, and neither gets a call that the other got."""
    assert_nothing_twice(seen, "Served", point)


@pytest.mark.behaviour("journal.agents-as-tools")
@pytest.mark.parametrize("point", POINTS["Asking"])
def test_what_an_agent_did_for_another_is_not_done_again(seen: KilledRuns, point: str) -> None:
    """Neither its tools nor its recorded model calls; only a tool of its own that was cut short ends the run."""
    assert_nothing_twice(seen, "Asking", point)


def assert_nothing_twice(seen: KilledRuns, agent: str, point: str) -> None:
    """No tool twice; a model call only if its answer was not recorded. It completes unless a tool was cut short."""
    run = seen[agent, point]

    assert len(run.again) <= 1
    assert run.again <= run.unrecorded_model_calls
    if run.is_cut_short:
        assert run.outcome["error"]["code"] == "run_interrupted"
    else:
        assert (run.outcome["response"], len(run.counted)) == ("all done", CALLS[agent])
