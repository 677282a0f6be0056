"""A workflow of four executors, an agent with a tool among them, which kills its process where its message says.

`die 2` kills it when the second executor begins, once: behind the first superstep and its checkpoint. `die 2.5` kills
it inside of the second, behind its agent's answer. NOTES has a line for each thing that was done.

The same executors are an agent too, Talk, behind one that counts the turns of its thread.
"""

from __future__ import annotations

import itertools
import os
import signal
from pathlib import Path
from typing import Any

from agent_framework import Agent, Executor, Message, Workflow, WorkflowBuilder, WorkflowContext, handler, tool
from planned import planned_client

from hosting.app import AgentFunctionApp

PLAN = (("city",), "all done")
NOTES = Path(os.environ["NOTES"])


def note(text: str) -> None:
    """Write a line for the outside."""
    with NOTES.open("a") as file:
        file.write(f"{text}\n")


def die_once(text: str, point: str) -> None:
    """End the process if the message says so, and it has not been ended before."""
    if text.split(",", maxsplit=1)[0] == f"die {point}" and f"died {point}" not in NOTES.read_text().splitlines():
        note(f"died {point}")
        os.kill(os.getpid(), signal.SIGKILL)


@tool(approval_mode="never_require")
def city(n: str) -> str:
    """Name a city."""
    note("tool")
    return "Paris"


class Step(Executor):
    """Adds its name to a text."""

    @handler
    async def go(self, text: str, ctx: WorkflowContext[str, str]) -> None:
        """Send it on, and yield it."""
        die_once(text, self.id)
        note(f"step {self.id}")
        await ctx.yield_output(f"said {self.id}")
        await ctx.send_message(f"{text},{self.id}")


class Asking(Executor):
    """Asks an agent that calls a tool."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.agent = Agent(planned_client(note, PLAN), name="Asked", tools=[city])

    @handler
    async def go(self, text: str, ctx: WorkflowContext[str, str]) -> None:
        """Send on what it answers."""
        die_once(text, self.id)
        answer = await self.agent.run("which city?")
        die_once(text, f"{self.id}.5")
        await ctx.send_message(f"{text},{answer.text}")


def chain() -> Workflow:
    """Return `1 -> 2 -> 3 -> 4`, the second of which asks an agent."""
    steps: list[Any] = [Step("1"), Asking("2"), Step("3"), Step("4")]
    builder = WorkflowBuilder(name="Chain", start_executor=steps[0])
    for before, after in itertools.pairwise(steps):
        builder.add_edge(before, after)
    return builder.build()


class Turns(Executor):
    """Counts the turns, in its own state and in the workflow's."""

    own = 0

    @handler
    async def count(self, messages: list[Message], ctx: WorkflowContext[str, str]) -> None:
        """Send the newest message on."""
        die_once(messages[-1].text, self.id)
        note("turn")
        self.own += 1
        ctx.set_state("turns", ctx.get_state("turns", 0) + 1)
        await ctx.yield_output(f"turn {self.own} {ctx.get_state('turns')}, {len(messages)} messages")
        await ctx.send_message(messages[-1].text)

    async def on_checkpoint_save(self) -> dict[str, Any]:
        """Keep the number."""
        return {"own": self.own}

    async def on_checkpoint_restore(self, state: dict[str, Any]) -> None:
        """Take it."""
        self.own = state["own"]


def talk() -> Workflow:
    """Return `1 -> 2 -> 3`, the second of which asks an agent."""
    turns, asking, last = Turns("1"), Asking("2"), Step("3")
    return WorkflowBuilder(name="Talk", start_executor=turns).add_edge(turns, asking).add_edge(asking, last).build()


NOTES.touch()
app = AgentFunctionApp(agents=[talk().as_agent()], workflow=chain)
