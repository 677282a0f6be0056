"""What a workflow keeps in its log: refused where it is not this app's or damaged, large, and of many at once."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any, Never

import httpx
import pytest
from agent_framework import (
    Agent,
    AgentExecutorResponse,
    Executor,
    Workflow,
    WorkflowBuilder,
    WorkflowContext,
    handler,
)

from hosting.core.agent.framework import FRAMEWORK_VERSION
from hosting.offline.model import OfflineChatClient
from tests.support import answer_formats
from tests.support.flows import Reviewer, asking_flow
from tests.support.made_app import app_of, served

THREAD = "/api/workflows/Asking/threads/t"
MOST_AT_ONCE, LARGE_BYTES = 100, 10_000_000


class Log:
    """The log's file, between two processes of an app."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "log.sqlite"
        self.environ = {"AGENT_LOG": f"sqlite:{self._path}"}

    def replace(self, before: str, after: str) -> None:
        with sqlite3.connect(self._path) as file:
            changed = file.execute(
                "UPDATE payload SET bytes = CAST(replace(CAST(bytes AS TEXT), ?, ?) AS BLOB) "
                "WHERE CAST(bytes AS TEXT) LIKE '%\"checkpointed\"%' AND instr(CAST(bytes AS TEXT), ?)",
                (before, after, before),
            )
        assert changed.rowcount == 1


def other_flow() -> Workflow:
    class Last(Executor):
        @handler
        async def end(self, text: str, ctx: WorkflowContext) -> None:
            """Do nothing."""

    first = Reviewer("reviewer")
    return WorkflowBuilder(name="Asking", start_executor=first).add_edge(first, Last("last")).build()


def formatted_flow() -> Workflow:
    """Return a workflow whose agent answers in a type that no executor declares, of another module."""

    class Last(Executor):
        @handler
        async def end(self, answer: AgentExecutorResponse, ctx: WorkflowContext[Never, str]) -> None:
            await ctx.yield_output(type(answer.agent_response.value.country).__name__)

    agent: Any = Agent(OfflineChatClient(), name="Judge", default_options={"response_format": answer_formats.City})
    last = Last("last")
    return WorkflowBuilder(name="Formatted", start_executor=agent).add_edge(agent, last).build()


@pytest.mark.behaviour("workflows.formats")
async def test_the_format_in_which_an_agent_answers_may_be_in_a_checkpoint() -> None:
    async with served(app_of(workflow=formatted_flow)) as (_, http):
        answer = await http.post("/api/workflows/Formatted/run", json={"message": "Paris", "thread_id": "t"})

    assert (answer.status_code, str(answer.json().get("response"))[-7:]) == (200, "Country"), answer.text


@pytest.mark.behaviour("workflows.changed")
@pytest.mark.parametrize(
    ("flow", "change", "code", "sentence"),
    [
        (other_flow, None, "workflow_changed", "The run started with another graph of workflow 'Asking'"),
        (
            asking_flow,
            (f'"framework":"{FRAMEWORK_VERSION}"', '"framework":"1.0.0"'),
            "workflow_changed",
            "The run started with another agent-framework (1.0.0) of workflow 'Asking'",
        ),
        (asking_flow, ('"checkpoint":"{', '"checkpoint":"['), "checkpoint_not_kept", "cannot be read"),
    ],
    ids=["graph", "framework", "damaged"],
)
async def test_an_answer_to_a_run_whose_state_is_not_of_this_app_ends_by_its_name(
    tmp_path: Path, flow: Any, change: tuple[str, str] | None, code: str, sentence: str
) -> None:
    log = Log(tmp_path)
    async with served(app_of(workflow=asking_flow, environ=log.environ)) as (_, http):
        asked = await http.post("/api/workflows/Asking/run", json={"message": "tea", "thread_id": "t"})
    (waiting,) = asked.json()["pending_approvals"]
    if change is not None:
        log.replace(*change)

    async with served(app_of(workflow=flow, environ=log.environ)) as (_, http):
        answer = await http.post(f"{THREAD}/approvals/{waiting['id']}", json={"value": {"approved": True}})
        runs = (await http.get(f"{THREAD}/runs")).json()["runs"]

    assert (answer.json()["code"], sentence in answer.json()["detail"]) == (code, True), answer.text
    assert [run.get("code") for run in runs] == [code, None]  # the run that was to go on, and the run that asked


def nameless_flow() -> Workflow:
    """Return a workflow that asks, to which its author gave no name."""
    return WorkflowBuilder(start_executor=Reviewer("reviewer")).build()


@pytest.mark.behaviour("workflows.named")
@pytest.mark.parametrize("given", [nameless_flow, nameless_flow()], ids=["function", "graph"])
async def test_a_workflow_without_a_name_has_that_of_the_app(tmp_path: Path, given: Any) -> None:
    log = Log(tmp_path)
    async with served(app_of(workflows={"Tea": given}, environ=log.environ)) as (_, http):
        (waiting,) = (await post(http, "/api/workflows/Tea/run", {"message": "tea", "thread_id": "t"}))[
            "pending_approvals"
        ]
    async with served(app_of(workflows={"Tea": given}, environ=log.environ)) as (_, http):
        place = f"/api/workflows/Tea/threads/t/approvals/{waiting['id']}"
        answer = await post(http, place, {"value": {"approved": True}})

    assert answer["response"] == "tea: True"


async def post(http: httpx.AsyncClient, path: str, body: Any) -> Any:
    return (await http.post(path, json=body, timeout=60)).json()


@pytest.mark.slow
@pytest.mark.behaviour("workflows.asks")
async def test_a_checkpoint_may_be_large(tmp_path: Path) -> None:
    """It lies with the attachments; another process goes on from it."""

    class Keeper(Reviewer):
        @handler
        async def keep(self, size: int, ctx: WorkflowContext[Never, str]) -> None:
            """Keep as many characters in the shared state, and ask."""
            ctx.set_state("large", "x" * size)
            await self.review("tea", ctx)

    def flow() -> Workflow:
        return WorkflowBuilder(name="Asking", start_executor=Keeper("keeper")).build()

    environ = {**Log(tmp_path).environ, "AGENT_ATTACHMENTS": f"sqlite:{tmp_path / 'attachments.sqlite'}"}
    async with served(app_of(workflow=flow, environ=environ)) as (_, http):
        (waiting,) = (await post(http, "/api/workflows/Asking/run", {"input": LARGE_BYTES, "thread_id": "t"}))[
            "pending_approvals"
        ]
    async with served(app_of(workflow=flow, environ=environ)) as (_, http):
        end = await post(http, f"{THREAD}/approvals/{waiting['id']}", {"value": {"approved": True}})

    assert end["response"] == "tea: True"
