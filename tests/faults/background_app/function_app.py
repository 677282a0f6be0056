"""A planner with a background agent, whose process stands still at the points that a test chose.

The points are `asked` and `begun`, before and behind the begin of a task, `cancelled`, behind the
cancel of those of a run, and `found`, in the background agent. REACHED is the file with a line for each time that one
was reached, and STANDS that with the chosen ones. A process stands still at these until the file GOES_ON is there.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from agent_framework import Message, WorkflowBuilder

import hosting.app
from hosting.features.background.tasks import BackgroundTasks
from tests.support.delegating import found_out, planner

REACHED = Path(os.environ["REACHED"])
GOES_ON = Path(os.environ["GOES_ON"])
STANDS = Path(os.environ["STANDS"])


async def pass_point(name: str) -> None:
    """Note that the point was reached, and stand still there if it is chosen."""
    with REACHED.open("a", encoding="utf-8") as file:
        file.write(f"{name}\n")
    while name in STANDS.read_text().split() and not GOES_ON.exists():  # noqa: ASYNC110 - another process makes it
        await asyncio.sleep(0.05)


async def find(messages: Sequence[Message]) -> Message:
    """Return what the background agent finds out."""
    await pass_point("found")
    return await found_out(messages)


begin = BackgroundTasks._begin


async def begin_slowly(self: BackgroundTasks, *arguments: Any) -> None:
    """Begin a task."""
    await pass_point("asked")
    await begin(self, *arguments)
    await pass_point("begun")


cancel = BackgroundTasks.cancel


async def cancel_and_note(self: BackgroundTasks, *arguments: Any) -> None:
    """Cancel the tasks of a run."""
    await cancel(self, *arguments)
    await pass_point("cancelled")


BackgroundTasks.cancel = cancel_and_note  # type: ignore[method-assign]
BackgroundTasks._begin = begin_slowly  # type: ignore[method-assign]
hosting.app.Services = partial(hosting.app.Services, lease_seconds=1.0, margin_seconds=0.5)
flow = WorkflowBuilder(name="Flow", start_executor=planner(find)).build()
app = hosting.app.AgentFunctionApp(agents=[planner(find)], workflows=[flow], budget=hosting.app.Budget(tokens=10_000))
