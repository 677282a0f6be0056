"""Agents that follow a plan, in a process whose runs stop where a test wants them to stand when it is killed.

With STANDS, a run's message says where it stops: `before 3` just before its third append to the run log, `after 3` just
after it. It stands there until the process dies, or until there is the file that STANDS names. NOTES is the file that
the outside counts by: a line for each thing that was done, with the process and the run that did it.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from agent_framework import Agent, MCPStdioTool
from planned import planned_agent, planned_client

import hosting.app
from hosting.agent.tool_threads import RUN
from hosting.events import Accepted, Event
from hosting.ports import Opening, RunLogStore

HERE = Path(__file__).resolve().parent
SERVED_PLAN = (("city",), ("city",), "all done")
NOTES = Path(os.environ["NOTES"])
STANDS = os.environ.get("STANDS")


class StandingStore:
    """A store at whose appends runs stand still; what it does otherwise is the real store's."""

    def __init__(self, store: RunLogStore) -> None:
        self._store = store
        self._points: dict[str, str] = {}
        self._appends: Counter[str] = Counter()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def open(self, accepted: Accepted, *arguments: Any) -> Opening:
        self._points[accepted.run_id] = accepted.request.message
        return await self._store.open(accepted, *arguments)

    async def append(self, run_id: str, *events: Event, after: int) -> bool:
        self._appends[run_id] += 1
        number = self._appends[run_id]
        await self._stand(run_id, f"before {number}")
        appended = await self._store.append(run_id, *events, after=after)
        await self._stand(run_id, f"after {number}")
        return appended

    async def _stand(self, run_id: str, point: str) -> None:
        if STANDS is None or self._points.get(run_id) != point:
            return
        tell(run_id, "stands")
        while not Path(STANDS).exists():  # noqa: ASYNC110 - another process makes the file
            await asyncio.sleep(0.01)


def tell(run_id: str, what: str) -> None:
    """Tell the outside, in one write."""
    with NOTES.open("a", encoding="utf-8") as notes:
        notes.write(f"{os.getpid()} {run_id} {what}\n")


def note(what: str) -> None:
    """Tell the outside what the run around does."""
    tell(RUN.get(), what)


def served_agent() -> Agent[Any]:
    """Return an agent whose tool is an MCP server's."""
    environ = {"NOTES": str(NOTES)}
    cities = MCPStdioTool("cities", sys.executable, args=[str(HERE / "cities.py")], env=environ)
    return Agent(planned_client(note, SERVED_PLAN), name="Served", tools=[cities])


def asking_agent() -> Agent[Any]:
    """Return an agent whose tool is another agent, with tools of its own."""
    helper = planned_agent(lambda what: note(f"inner {what}"), (("add",), ("look",), "helped"), name="Helper")
    tools = [helper.as_tool(name="helper", arg_name="n")]
    return Agent(planned_client(note, (("helper",), "all done")), name="Asking", tools=tools)


choose = hosting.app_stores.choose_store
hosting.app_stores.choose_store = lambda *arguments: StandingStore(choose(*arguments))
app = hosting.app.AgentFunctionApp(
    agents=[
        planned_agent(note),
        planned_agent(note, name="Harmless", harmless=True),
        planned_agent(note, name="Speaker", harmless=True, speaks=True),
        served_agent(),
        asking_agent(),
    ],
)
