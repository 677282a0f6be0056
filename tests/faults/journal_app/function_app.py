"""Agents that follow a plan, in a process whose runs stop where a test wants them to stand when it is killed.

With STANDS, the first message of a thread says where its run stops, or the thread's id, whichever process accepted it:
`before 3` (`before-3.` in an id) just before the third append behind an acceptance, `after 3` just after it. It
stands there until the process dies, or until there is the file that STANDS names. NOTES is the file
that the outside counts by: a line for each thing that was done, with the process and the run that did it. A run that
stands is named by its thread.
"""

from __future__ import annotations

import asyncio
import os
import re
import sys
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

from agent_framework import Agent, MCPStdioTool
from planned import PLAN, planned_agent, planned_client

import hosting.app
from hosting.core.agent.agent_loop import RUN
from hosting.core.stores.contract import Append, AppendOutcome, StoredHead, ThreadStore
from hosting.core.thread.events import Accepted, decode
from hosting.names import Address

HERE = Path(__file__).resolve().parent
SERVED_PLAN = (("city",), ("city",), "all done")
NOTES = Path(os.environ["NOTES"])
STANDS = os.environ.get("STANDS")
POINT = re.compile(r"(before|after)-(\d+)(\.|$)")


class StandingStore:
    """A store at whose appends runs stand still, each in a thread of its own; the rest is the real store's."""

    def __init__(self, store: ThreadStore) -> None:
        self._store = store
        self._messages: dict[Address, str] = {}
        self._appends: Counter[Address] = Counter()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def append(self, address: Address, known: StoredHead | None, append: Append) -> AppendOutcome:
        if not append.events:  # it renews a lease, at any moment
            return await self._store.append(address, known, append)
        accepted = [event for event in map(decode, append.events) if isinstance(event, Accepted)]
        if accepted:
            self._messages.setdefault(address, accepted[0].request.message)
            return await self._store.append(address, known, append)
        self._appends[address] += 1
        number = self._appends[address]
        await self._stand(address, f"before {number}")
        outcome = await self._store.append(address, known, append)
        await self._stand(address, f"after {number}")
        return outcome

    async def _stand(self, address: Address, point: str) -> None:
        named = POINT.match(address.thread_id)
        if STANDS is None or point != (f"{named[1]} {named[2]}" if named else self._messages.get(address)):
            return
        report(address.thread_id, "stands")
        while not Path(STANDS).exists():  # noqa: ASYNC110 - another process makes the file
            await asyncio.sleep(0.01)


def report(run_id: str, what: str) -> None:
    """Tell the outside, in one write."""
    with NOTES.open("a", encoding="utf-8") as notes:
        notes.write(f"{os.getpid()} {run_id} {what}\n")


def note(what: str) -> None:
    """Tell the outside what the run around does."""
    report(RUN.get(), what)


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


choose = hosting.store_choice.choose_thread_store
hosting.store_choice.choose_thread_store = lambda *arguments: StandingStore(choose(*arguments))
if lease := os.environ.get("LEASE_SECONDS"):
    hosting.app.Services = partial(hosting.app.Services, lease_seconds=float(lease), margin_seconds=float(lease) / 2)
app = hosting.app.AgentFunctionApp(
    agents=[
        planned_agent(note),
        planned_agent(note, name="Harmless", harmless=True),
        planned_agent(note, name="Speaker", harmless=True, speaks=True),
        planned_agent(note, (*PLAN[:-1], f"signed {os.getpid()}"), name="Signer", harmless=True, speaks=True),
        served_agent(),
        asking_agent(),
    ],
    wires=["responses", "a2a", "ag-ui", "mcp"],
)
