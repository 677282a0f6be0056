"""Code of an author's own that asks a model itself: it counts where an agent can be seen, else a warning names it."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, Never

import pytest
from agent_framework import (
    Agent,
    Executor,
    Workflow,
    WorkflowBuilder,
    WorkflowContext,
    executor,
    handler,
    step,
    tool,
    workflow,
)

from hosting.app import Budget, Limit
from hosting.offline.model import OfflineChatClient
from tests.support.made_app import app_of, served
from tests.support.spender import Spender

CLIENT = OfflineChatClient()
ASKED = Agent(client=Spender(), name="Asked")
BUDGET = Budget(tokens=100)


async def asked(text: str) -> str:
    return str(await ASKED.run(text))


class ByName(Executor):
    """Asks an agent of its module four times, each for 40 tokens."""

    @handler
    async def go(self, text: str, ctx: WorkflowContext[Never, str]) -> None:
        await ctx.yield_output(" ".join([await asked("0") for _ in range(4)]))


class ByItself(Executor):
    """Makes an agent."""

    @handler
    async def go(self, text: str, ctx: WorkflowContext[Never, str]) -> None:
        await ctx.yield_output(str(await Agent(client=OfflineChatClient()).run(text)))


class Quiet(Executor):
    """Asks nobody."""

    @handler
    async def go(self, text: str, ctx: WorkflowContext[Never, str]) -> None:
        await ctx.yield_output(text)


def closing_over(agent: Agent[Any]) -> Any:
    """Return an executor, a function, that closes over an agent."""

    @executor(id="ask")
    async def ask(text: str, ctx: WorkflowContext[Never, str]) -> None:
        await ctx.yield_output(" ".join([str(await agent.run("0")) for _ in range(4)]))

    return ask


def flow_of(first: Callable[[], Any]) -> Callable[[], Workflow]:
    return lambda: WorkflowBuilder(name="Flow", start_executor=first(), output_from="all").build()


@pytest.mark.behaviour("http.budget-code")
@pytest.mark.parametrize("first", [lambda: ByName("ask"), lambda: closing_over(Agent(client=Spender(), name="Closed"))])
async def test_an_agent_that_an_executors_code_calls_spends_the_budget(first: Callable[[], Any]) -> None:
    async with served(app_of(workflows=[flow_of(first)], budget=BUDGET)) as (_, http):
        answer = await http.post("/api/workflows/Flow/run", json={"message": "hi"})

    assert (answer.status_code, answer.json()["budget"]["used_tokens"]) == (402, 120)


@step
async def by_client(text: str) -> str:
    return str(await CLIENT.get_response(text))


@workflow
async def function_by_client(text: str) -> str:
    return await by_client(text)


@tool
async def consult(text: str) -> str:
    return await asked(text)


@pytest.mark.behaviour("http.budget-code")
@pytest.mark.parametrize(
    ("options", "most", "named"),
    [
        ({"workflows": [flow_of(lambda: ByItself("ask"))]}, {"budget": BUDGET}, "the code of 'ask' names Agent"),
        (
            {"agents": [Agent(client=CLIENT, name="Joker", tools=[consult])]},
            {"limit": Limit(tokens_per_minute=9)},
            "the code of 'consult' names Asked",
        ),
        ({"workflows": [function_by_client]}, {"budget": BUDGET}, "the code of 'by_client' names OfflineChatClient"),
        ({"workflows": [flow_of(lambda: Quiet("ask"))]}, {"budget": BUDGET}, ""),
        ({"workflows": [flow_of(lambda: ByName("ask"))]}, {"budget": BUDGET}, ""),
        ({"workflows": [flow_of(lambda: ByItself("ask"))]}, {}, ""),
    ],
)
def test_code_that_asks_a_model_unseen_is_named_at_the_start(
    options: dict[str, Any], most: dict[str, Any], named: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        app_of(*options.get("agents", ()), workflows=options.get("workflows", ()), **most).get_functions()

    told = [message for message in caplog.messages if "are not counted" in message]
    assert len(told) == bool(named)
    assert named in "".join(told)
