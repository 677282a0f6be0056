"""Workflows as graphs: side by side, a switch, a loop, and a workflow in a workflow."""

import os
import re
from dataclasses import dataclass
from typing import Never

from agent_framework import (
    Agent,
    AgentExecutorRequest,
    AgentExecutorResponse,
    Case,
    Default,
    Executor,
    Message,
    Workflow,
    WorkflowBuilder,
    WorkflowContext,
    WorkflowExecutor,
    handler,
)

from agents.assistant import get_weather
from agents.models import create_chat_client
from hosting.app import AgentFunctionApp

client = create_chat_client(os.environ)  # clients and agents may be made once; executors are made for each run


@dataclass
class Trip:
    """What `Trip` takes."""

    cities: list[str]


@dataclass
class Forecast:
    """What `Trip` yields: the weather of each city."""

    asked: int
    answers: list[str]


class Planner(Executor):
    """Asks for the weather in every city at the same time."""

    @handler
    async def plan(self, trip: Trip, ctx: WorkflowContext[AgentExecutorRequest]) -> None:
        """Keep how many there are, where every executor of the run finds it, and ask the first two."""
        ctx.set_state("cities", len(trip.cities))
        for number, city in enumerate(trip.cities[:2]):
            question = Message("user", [f"What is the weather in {city}?"])
            await ctx.send_message(AgentExecutorRequest([question], should_respond=True), f"guide-{number}")


class Reporter(Executor):
    """Waits for all answers (fan-in)."""

    @handler
    async def report(self, answers: list[AgentExecutorResponse], ctx: WorkflowContext[Never, Forecast]) -> None:
        """Yield a value with a type: callers get it as JSON."""
        texts = sorted(answer.agent_response.text for answer in answers)
        await ctx.yield_output(Forecast(ctx.get_state("cities"), texts))


def trip() -> Workflow:
    """Fan-out to two agents, fan-in, shared state, a typed input and output."""
    guides = [Agent(client=client, name=f"guide-{n}", tools=[get_weather]) for n in range(2)]
    planner, reporter = Planner("planner"), Reporter("reporter")
    builder = WorkflowBuilder(name="Trip", start_executor=planner, output_from=[reporter])
    for guide in guides:  # an edge each: what one fan-out edge takes to named targets goes there one after another
        builder.add_edge(planner, guide)
    return builder.add_fan_in_edges(guides, reporter).build()


class Count(Executor):
    """Counts a text's words."""

    @handler
    async def count(self, text: str, ctx: WorkflowContext[int]) -> None:
        """Send the number on; edges look at it."""
        await ctx.send_message(len(re.findall(r"\w+", text)))


class Say(Executor):
    """Yields what it is made with."""

    def __init__(self, verdict: str) -> None:
        super().__init__(verdict)

    @handler
    async def say(self, words: int, ctx: WorkflowContext[Never, str]) -> None:
        """Yield the verdict with the number."""
        await ctx.yield_output(f"{self.id}: {words} words")


def length() -> Workflow:
    """A switch: the first case that is true is where the message goes."""
    count = Count("count")
    cases: list[Case | Default] = [Case(lambda words: words < 4, Say("short")), Default(Say("long"))]
    return WorkflowBuilder(name="Length", start_executor=count).add_switch_case_edge_group(count, cases).build()


class Halve(Executor):
    """Halves a number."""

    @handler
    async def halve(self, number: int, ctx: WorkflowContext[int]) -> None:
        """Count the rounds in the state of the run, which a killed process does not lose."""
        ctx.set_state("rounds", ctx.get_state("rounds", 0) + 1)
        await ctx.send_message(number // 2)


class Judge(Executor):
    """Sends a number back until it is 1."""

    @handler
    async def judge(self, number: int, ctx: WorkflowContext[int, str]) -> None:
        """Yield what happened, or go round once more."""
        if number <= 1:
            await ctx.yield_output(f"{ctx.get_state('rounds')} times")
        else:
            await ctx.send_message(number)


def halving() -> Workflow:
    """A loop; `max_iterations` bounds it."""
    halve, judge = Halve("halve"), Judge("judge")
    builder = WorkflowBuilder(name="Halving", start_executor=halve, max_iterations=64)
    return builder.add_edge(halve, judge).add_edge(judge, halve).build()


class Shout(Executor):
    """Says a text in capitals."""

    @handler
    async def shout(self, text: str, ctx: WorkflowContext[Never, str]) -> None:
        """Yield it."""
        await ctx.yield_output(f"{text.upper()}!")


def announcement() -> Workflow:
    """A workflow as an executor of another: what the inner one yields is the next one's message."""
    inner = WorkflowExecutor(length(), id="length")
    return WorkflowBuilder(name="Announcement", start_executor=inner).add_edge(inner, Shout("shout")).build()


app = AgentFunctionApp(workflows=[trip, length, halving, announcement])
