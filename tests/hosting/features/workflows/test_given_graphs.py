"""Workflows that are given as one graph, what their starts take, and executors that tell where to answer."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any, Never

import httpx
import pytest
from agent_framework import (
    Agent,
    Executor,
    Message,
    Workflow,
    WorkflowBuilder,
    WorkflowContext,
    WorkflowExecutor,
    executor,
    handler,
    response_handler,
    workflow,
)
from agent_framework.orchestrations import HandoffBuilder

from hosting.app import WorkflowHitlContext
from hosting.errors import ConfigurationError
from tests.support.app.scripted import ScriptedModel, scripted_agent
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


def letters(attribute: object = None) -> Workflow:
    """Return a graph with an executor that all graphs of this module have, as `@executor` makes them."""
    return WorkflowBuilder(name="Letters", start_executor=store).add_edge(store, Counting(attribute)).build()


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


TEXT = {"$type": "text", "text": "and this"}


class Reader(Executor):
    """Takes a message."""

    @handler
    async def read(self, message: Message, ctx: WorkflowContext[Never, str]) -> None:
        await ctx.yield_output(f"{type(message).__name__} of {message.role}: {message.text}")


def reading() -> Workflow:
    return WorkflowBuilder(name="Reading", start_executor=Reader("reader")).build()


@workflow(name="Noting")
async def noting(message: Message) -> str:
    return f"{type(message).__name__} of {message.role}: {message.text}"


@pytest.fixture
async def http() -> AsyncIterator[httpx.AsyncClient]:
    async with served(app_of(workflows=[reading, noting])) as (_, http):
        yield http


async def response(http: httpx.AsyncClient, name: str, **fields: Any) -> Any:
    answer = await http.post(f"/api/workflows/{name}/run", json={**fields, "thread_id": "t"})
    return answer.json().get("response", answer.text)


@pytest.mark.behaviour("workflows.input")
@pytest.mark.parametrize("name", ["Reading", "Noting"])
async def test_a_start_that_takes_a_message_gets_the_newest(http: httpx.AsyncClient, name: str) -> None:
    """Made of the text, also of one sent as the input, and of the contents; not those of the thread before."""
    assert await response(http, name, message="hello") == "Message of user: hello"
    assert await response(http, name, input="again") == "Message of user: again"
    assert await response(http, name, message="look", contents=[TEXT]) == "Message of user: look and this"
    listed = (await http.get("/api/workflows")).json()["workflows"]
    assert next(each for each in listed if each["name"] == name)["input_schema"] == {"type": "string"}


ORIGIN = "http://app.example"


class Gate(Executor):
    """Asks, and tells somebody."""

    def __init__(self, told: list[Any], base_url: str | None) -> None:
        super().__init__("gate")
        self.told, self.base_url = told, base_url

    @handler
    async def ask(self, text: str, ctx: WorkflowContext[Never, str]) -> None:
        await ctx.request_info(text, bool)
        request_id = await WorkflowHitlContext.pending_request_id(ctx)
        found = WorkflowHitlContext.from_context(ctx, base_url=self.base_url)
        assert request_id
        assert found
        self.told += [found.build_respond_url(request_id), found.build_status_url()]

    @response_handler
    async def answered(self, text: str, may: bool, ctx: WorkflowContext[Never, str]) -> None:
        await ctx.yield_output(f"{text}: {may}")


class Said(Executor):
    """Yields what a workflow within said."""

    @handler
    async def say(self, text: str, ctx: WorkflowContext[Never, str]) -> None:
        await ctx.yield_output(f"said {text}")


def gate(told: list[Any], base_url: str | None = ORIGIN, name: str = "Gate") -> Callable[[], Workflow]:
    return lambda: WorkflowBuilder(name=name, start_executor=Gate(told, base_url)).build()


def nested(told: list[Any]) -> Callable[[], Workflow]:
    """Return what builds a workflow with one inside that asks."""

    def build() -> Workflow:
        inner = WorkflowExecutor(gate(told, name="Inner")(), id="inner")
        return WorkflowBuilder(name="Gate", start_executor=inner).add_edge(inner, Said("said")).build()

    return build


@pytest.mark.behaviour("workflows.tells-where")
@pytest.mark.parametrize(("nests", "output"), [(False, "tea: True"), (True, "said tea: True")])
async def test_an_executor_knows_where_its_request_is_answered(nests: bool, output: str) -> None:
    told: list[Any] = []
    build = nested(told) if nests else gate(told)
    async with served(app_of(workflow=build)) as (_, http):
        begun = (await http.post("/api/workflows/Gate/run", json={"message": "tea"})).json()
        waiting = (await http.get(told[1])).json()
        answer = await http.post(told[0], json=True)
        run_url = f"/api/workflows/Gate/threads/{begun['thread_id']}/runs"
        newest = (await http.get(run_url)).json()["runs"][0]
        await http.get(f"{run_url}/{newest['run_id']}/events")
        ended = (await http.get(told[1])).json()

    assert [one["requestId"] for one in waiting["pendingHumanInputRequests"]] == [told[0].rpartition("/")[2]]
    assert answer.status_code == 200, answer.text
    assert ended["output"] == [output]


@pytest.mark.behaviour("workflows.tells-where")
@pytest.mark.parametrize(
    ("host_name", "origin"),
    [
        ("localhost:7071", "http://localhost:7071"),
        ("my-app.azurewebsites.net", "https://my-app.azurewebsites.net"),
        ("https://example.com/", "https://example.com"),
    ],
)
async def test_the_address_is_that_of_the_app(host_name: str, origin: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEBSITE_HOSTNAME", host_name)
    told: list[Any] = []
    async with served(app_of(workflow=gate(told, None))) as (_, http):
        await http.post("/api/workflows/Gate/run", json={"message": "tea", "thread_id": "t"})

    assert told[1] == f"{origin}/api/workflow/Gate/status/t"
