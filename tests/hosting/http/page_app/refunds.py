"""The workflow of the pictures: what is known of an order is looked up side by side, and a person decides."""

from __future__ import annotations

from typing import Never

from agent_framework import (
    Agent,
    AgentExecutorRequest,
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

from hosting.app import AgentFunctionApp
from hosting.offline.model import OfflineChatClient

client = OfflineChatClient()


class Wish(BaseModel):
    """What a person is asked about."""

    order: str
    amount: int


class Verdict(BaseModel):
    """What a person answers."""

    approved: bool


class Intake(Executor):
    """Takes the customer's words."""

    @handler
    async def take(self, text: str, ctx: WorkflowContext[AgentExecutorRequest]) -> None:
        """Have both agents look at them."""
        await ctx.send_message(AgentExecutorRequest([Message("user", [text])], should_respond=True))


class Decision(Executor):
    """Asks a person when both agents have answered."""

    @handler
    async def ask(self, answers: list[AgentExecutorResponse], ctx: WorkflowContext[bool]) -> None:
        """Ask."""
        await ctx.request_info(Wish(order="A-17", amount=120), Verdict)

    @response_handler
    async def decide(self, wish: Wish, verdict: Verdict, ctx: WorkflowContext[bool]) -> None:
        """Send on what was decided."""
        await ctx.send_message(verdict.approved)


class Say(Executor):
    """Yields what it is called."""

    @handler
    async def say(self, approved: bool, ctx: WorkflowContext[Never, str]) -> None:
        """Yield it."""
        await ctx.yield_output(self.id)


def refunds() -> Workflow:
    """Return two agents side by side, a person who is asked, and a choice."""
    intake, decision, pay, decline = Intake("intake"), Decision("decision"), Say("pay"), Say("decline")
    agents = [Agent(client, name=name) for name in ("find-order", "read-terms")]
    builder = WorkflowBuilder(name="Refunds", start_executor=intake, output_from=[pay, decline])
    builder = builder.add_fan_out_edges(intake, agents).add_fan_in_edges(agents, decision)
    builder = builder.add_edge(decision, pay, condition=lambda approved: approved)
    return builder.add_edge(decision, decline, condition=lambda approved: not approved).build()


app = AgentFunctionApp(workflows=[refunds])
