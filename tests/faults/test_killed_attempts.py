"""A run whose attempts last for half a second, in processes that are killed one behind another: each step is one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults.killed_app import KILLED, KilledApp
from tests.support.carriers import Api
from tests.support.event_stream import parse
from tests.support.kept_in import KINDS, kept_in

pytestmark = KILLED

STEPS = 120
STEPPING = f"""
import asyncio

from agent_framework import Agent
from hosting.tools import current, idempotent
from tests.support.long_run import StepsClient


@idempotent
async def step(number: int) -> str:
    note(current().call_key)
    await asyncio.sleep(0.02)
    return str(number)


client = StepsClient(function_invocation_configuration={{"max_iterations": {STEPS + 1}}})
client.steps = {STEPS}
app = AgentFunctionApp(agents=[Agent(client, name="Steps", tools=[step])])
"""
POINTS = [f"{side} tool_result 20" for side in ("after", "before") * 2]
THREAD = "/api/agents/Steps/threads/t"


@pytest.mark.behaviour("run.attempts-killed")
@pytest.mark.parametrize("stores", kept_in(*KINDS), indirect=True)
async def test_each_step_is_made_once_though_attempts_end_and_processes_are_killed(
    tmp_path: Path, stores: dict[str, str]
) -> None:
    """Nobody asks again; a stream tells of each attempt."""
    app = KilledApp(tmp_path, stores, STEPPING, AGENT_ATTEMPT_SECONDS="0.5", AGENT_RUN_TIMEOUT_SECONDS="600")

    async def ask(api: Api) -> None:
        body = {"message": "go", "thread_id": "t", "stream": True, "wait_for_response": False}
        await api.http.post("/api/agents/Steps/run", json=body)

    async def goes_on(api: Api) -> None:
        """The engine has the run."""

    for number, point in enumerate(POINTS):
        await app.killed_by(goes_on if number else ask, point)
    async with app.running() as api:
        [run] = await app.ended(api, THREAD)
        told = parse((await api.http.get(f"{THREAD}/runs/{run['run_id']}/events")).text)

    attempts = [frame.fields["attempt"] for frame in told if frame.event in {"started", "restarted"}]
    assert (run["status"], told[-1].event, told[-1].fields["response"]) == ("success", "completed", "all done")
    assert len(set(app.said)) == STEPS
    assert len(app.said) <= STEPS + len(POINTS)
    assert attempts == list(range(1, run["attempts"] + 1))
    assert len(attempts) > len(POINTS) + 3
