"""Workflows that are given as one graph, as upstream's apps do: each run has a copy of it."""

import asyncio
import threading
from dataclasses import dataclass
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
)
from agent_framework.orchestrations import HandoffBuilder

from hosting.errors import ConfigurationError
from tests.support.app.scripted import ScriptedModel, scripted_agent
from tests.support.flows import FLOWS
from tests.support.made_app import app_of, served


@dataclass
class Letter:
    """What is kept in the state of a run; no executor declares it."""

    text: str


@executor(id="store")
async def store(text: str, ctx: WorkflowContext[str]) -> None:
    ctx.set_state("letter", Letter(text))
    await ctx.send_message("stored")


class Counting(Executor):
    """Counts its messages in an attribute."""

    def __init__(self, attribute: object = None) -> None:
        super().__init__("counting")
        self.count = 0
        self.attribute = attribute

    @handler
    async def answer(self, stored: str, ctx: WorkflowContext[Never, str]) -> None:
        self.count += 1
        await asyncio.sleep(0)
        await ctx.yield_output(f"{ctx.get_state('letter').text} {self.count}")


def letters(attribute: object = None, start: Any = store) -> Workflow:
    """Return a graph with an executor that all graphs of this module have, as `@executor` makes them."""
    return WorkflowBuilder(name="Letters", start_executor=start).add_edge(start, Counting(attribute)).build()


def handed_over() -> Workflow:
    """Return agents that hand over: each and its executor have a middleware in common, which a copy would part."""
    pair = [
        Agent(ScriptedModel(), name=name, require_per_service_call_history_persistence=True)
        for name in ("desk", "guide")
    ]
    return HandoffBuilder(name="Desk", participants=pair).with_start_agent(pair[0]).build()


@pytest.mark.behaviour("workflows.given-graph")
async def test_runs_of_a_given_graph_do_not_meet() -> None:
    """At the same time and one after the other: what an executor counts begins anew in each."""
    given = letters()
    async with served(app_of(workflow=given)) as (_, http):
        texts = [f"letter {number}" for number in range(8)]
        runs = [http.post("/api/workflows/Letters/run", json={"message": text}) for text in texts]
        answers = [(await run).json() for run in [asyncio.ensure_future(one) for one in runs]]

    assert [answer.get("response") for answer in answers] == [f"{text} 1" for text in texts]
    assert next(one for one in given.executors.values() if isinstance(one, Counting)).count == 0


@pytest.mark.behaviour("workflows.given-graph")
@pytest.mark.parametrize("build", FLOWS)
async def test_a_given_graph_answers_as_the_function_that_builds_it(build: Any) -> None:
    body = {"input": {"item": "tea"}} if build().name == "Orders" else {"message": "say hi"}
    answers = []
    for source in (build, build()):
        async with served(app_of(workflow=source)) as (_, http):
            answers.append((await http.post(f"/api/workflows/{build().name}/run", json=body)).json()["response"])

    assert answers[0] == answers[1]


@pytest.mark.behaviour("workflows.refused")
@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (
            letters(threading.Lock()),
            "Workflow 'Letters' is one graph, and each run needs its own: attribute of executor 'counting' is a lock, "
            "which cannot be copied. Give the function that builds the workflow: workflows=[build_review].",
        ),
        (
            handed_over(),
            "Workflow 'Desk' is one graph, and each run needs its own: _auto_handoff_middleware of executor 'desk' is "
            "a _AutoHandoffMiddleware, which cannot be copied. Give the function that builds the workflow: "
            "workflows=[build_review].",
        ),
        (
            WorkflowBuilder(name="Nobody", start_executor=scripted_agent("")).build(),
            "Workflow 'Nobody' has another graph each time it is built, so its runs could not continue in another "
            "process. "
            "Give each executor its own id, and each agent a name.",
        ),
    ],
)
def test_a_graph_that_has_no_copies_is_refused(given: Workflow, sentence: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        app_of(workflow=given)

    assert refused.value.detail == sentence
