"""Workflows that tests host: small graphs of executors, and of agents over the scripted model."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any, Never

from agent_framework import (
    AgentExecutor,
    AgentExecutorResponse,
    Executor,
    Message,
    Workflow,
    WorkflowBuilder,
    WorkflowContext,
    handler,
    response_handler,
)
from pydantic import BaseModel

from tests.support.app.scripted import scripted_agent


@dataclass
class Order:
    """What the structured workflow takes."""

    item: str
    count: int = 1


@dataclass
class Receipt:
    """What the structured workflow yields."""

    item: str
    total: int


class Upper(Executor):
    """Says a text in capitals, unless the text says what else to do."""

    @handler
    async def say(self, text: str, ctx: WorkflowContext[str]) -> None:
        """Send it on; `fail` raises, `wait` never ends."""
        if text == "fail":
            raise ValueError("a secret of the executor")
        if text == "wait":
            await asyncio.Event().wait()
        await ctx.send_message(text.upper())


class Reversed(Executor):
    """Yields a text the other way round."""

    @handler
    async def say(self, text: str, ctx: WorkflowContext[Never, str]) -> None:
        """Yield it."""
        await ctx.yield_output(text[::-1])


class Till(Executor):
    """Takes an order."""

    @handler
    async def sell(self, order: Order, ctx: WorkflowContext[Never, Receipt]) -> None:
        """Yield its receipt."""
        await ctx.yield_output(Receipt(order.item, 3 * order.count))


class Spread(Executor):
    """Sends a text to everybody."""

    @handler
    async def spread(self, text: str, ctx: WorkflowContext[str]) -> None:
        """Send it."""
        await ctx.send_message(text)


class Joined(Executor):
    """Waits for all answers."""

    @handler
    async def join(self, answers: list[AgentExecutorResponse], ctx: WorkflowContext[Never, str]) -> None:
        """Yield them, sorted."""
        await ctx.yield_output(" + ".join(sorted(one.agent_response.text for one in answers)))


def text_flow() -> Workflow:
    """Return `upper -> reversed`."""
    upper = Upper("upper")
    return WorkflowBuilder(name="Text", start_executor=upper).add_edge(upper, Reversed("reversed")).build()


def order_flow() -> Workflow:
    """Return a workflow of a structured input and output."""
    return WorkflowBuilder(name="Orders", description="Sells things.", start_executor=Till("till")).build()


def chat_flow() -> Workflow:
    """Return two agents in a row, both of whom are heard."""
    first, second = (AgentExecutor(scripted_agent(name), id=name) for name in ("First", "Second"))
    return WorkflowBuilder(name="Chat", start_executor=first).add_edge(first, second).build()


def fan_flow() -> Workflow:
    """Return two agents side by side, and one who joins their answers."""
    spread, joined = Spread("spread"), Joined("joined")
    agents = [AgentExecutor(scripted_agent(name), id=name) for name in ("Left", "Right")]
    builder = WorkflowBuilder(name="Fan", start_executor=spread, output_from=[joined])
    return builder.add_fan_out_edges(spread, agents).add_fan_in_edges(agents, joined).build()


FLOWS: list[Any] = [text_flow, order_flow, chat_flow, fan_flow]


@dataclass
class Plan:
    """What a person is asked about."""

    text: str
    steps: list[str]


class Verdict(BaseModel):
    """What a person answers."""

    approved: bool
    note: str = ""


class Reviewer(Executor):
    """Asks a person about each plan, again with `again` as the note; `text` asks for a text."""

    @handler
    async def review(self, text: str, ctx: WorkflowContext[Never, str]) -> None:
        """Yield a word, and ask."""
        await ctx.yield_output("asked")
        for name in text.split("+"):
            await ctx.request_info(Plan(name, ["one", "two"]), str if text == "text" else Verdict)

    @response_handler
    async def judge(self, plan: Plan, verdict: Verdict, ctx: WorkflowContext[Never, str]) -> None:
        """Yield what was answered."""
        await ctx.yield_output(f"{plan.text}: {verdict.approved} {verdict.note}".strip())
        if verdict.note == "again":
            await ctx.request_info(Plan(f"{plan.text} again", []), Verdict)

    @response_handler
    async def note(self, plan: Plan, note: str, ctx: WorkflowContext[Never, str]) -> None:
        """Yield it."""
        await ctx.yield_output(note)


def asking_flow() -> Workflow:
    return WorkflowBuilder(name="Asking", start_executor=Reviewer("reviewer")).build()


def user(text: str) -> Message:
    return Message("user", [text])


class Secret:
    """A class that no executor declares."""


def hoarding_flow() -> Workflow:
    """Return a workflow that keeps a value in its state that no checkpoint may have."""

    class Hoarder(Executor):
        @handler
        async def keep(self, text: str, ctx: WorkflowContext[str]) -> None:
            ctx.set_state("secret", Secret())
            await ctx.send_message(text)

    class After(Executor):
        @handler
        async def go(self, text: str, ctx: WorkflowContext[Never, str]) -> None:
            raise AssertionError("the run went on")

    first = Hoarder("hoarder")
    return WorkflowBuilder(name="Hoard", start_executor=first).add_edge(first, After("never")).build()
