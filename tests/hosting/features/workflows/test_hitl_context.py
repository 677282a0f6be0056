"""Executors that tell a person where to answer, also in a workflow within a workflow."""

from collections.abc import Callable
from typing import Any, Never

import pytest
from agent_framework import (
    Executor,
    SubWorkflowRequestMessage,
    SubWorkflowResponseMessage,
    Workflow,
    WorkflowBuilder,
    WorkflowContext,
    WorkflowExecutor,
    handler,
    response_handler,
)

from hosting.app import WorkflowHitlContext
from tests.support.made_app import app_of, served

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


class Deciding(Said):
    """Answers what a workflow within asks."""

    @handler
    async def decide(
        self, request: SubWorkflowRequestMessage, ctx: WorkflowContext[SubWorkflowResponseMessage]
    ) -> None:
        await ctx.send_message(request.create_response(False), target_id=request.executor_id)


def gate(told: list[Any], base_url: str | None = ORIGIN, name: str = "Gate") -> Callable[[], Workflow]:
    return lambda: WorkflowBuilder(name=name, start_executor=Gate(told, base_url)).build()


def nested(told: list[Any], last: Executor) -> Callable[[], Workflow]:
    """Return what builds a workflow with one inside that asks."""

    def build() -> Workflow:
        inner, end = WorkflowExecutor(gate(told, name="Inner")(), id="inner"), type(last)(last.id)
        builder = WorkflowBuilder(name="Gate", start_executor=inner).add_edge(inner, end)
        return (builder.add_edge(end, inner) if isinstance(end, Deciding) else builder).build()

    return build


@pytest.mark.behaviour("workflows.tells-where")
@pytest.mark.parametrize(("nests", "output"), [(False, "tea: True"), (True, "said tea: True")])
async def test_an_executor_knows_where_its_request_is_answered(nests: bool, output: str) -> None:
    told: list[Any] = []
    build = nested(told, Said("said")) if nests else gate(told)
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
