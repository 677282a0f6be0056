"""An agent of very many steps, in a process whose attempts last for a second.

NOTES has a line for each call: the process, the call's key and the time.
"""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path

from agent_framework import Agent

import hosting.app
from hosting.tools import current, idempotent
from tests.support.long_run import StepsClient

STEPS = int(os.environ["STEPS"])
SECONDS = float(os.environ.get("STEP_SECONDS", "0.02"))
NOTES = Path(os.environ["NOTES"])


@idempotent
async def step(number: int) -> str:
    """Make one step, which takes a while."""
    with NOTES.open("a", encoding="utf-8") as notes:
        notes.write(f"{os.getpid()} {current().call_key} {time.time()}\n")
    await asyncio.sleep(SECONDS)
    return str(number)


client = StepsClient(function_invocation_configuration={"max_iterations": STEPS + 1})
client.steps = STEPS
app = hosting.app.AgentFunctionApp(agents=[Agent(client, name="Steps", tools=[step])])
