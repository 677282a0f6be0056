"""Defects of workflows that users told agent-framework of: each by its issue, as it is served here."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Never

import httpx
import pytest
from agent_framework import (
    Agent,
    ChatMiddlewareLayer,
    Executor,
    FunctionInvocationLayer,
    Message,
    Workflow,
    WorkflowBuilder,
    WorkflowContext,
    WorkflowExecutor,
    handler,
    response_handler,
)
from agent_framework.orchestrations import HandoffBuilder

from tests.support.app.scripted import ScriptedModel
from tests.support.made_app import app_of, served


async def post(http: httpx.AsyncClient, path: str, **body: Any) -> dict[str, Any]:
    """Send a body, and return the answer's."""
    return dict((await http.post(f"/api/workflows/{path}", json=body)).json())


class Remembering(FunctionInvocationLayer[Any], ChatMiddlewareLayer[Any], ScriptedModel):
    """The scripted model, whose agents keep what each call of it adds to their history."""


def desk_flow() -> Workflow:
    """Return two agents who hand over to each other, and ask the user whenever one of them has answered."""
    desk, guide = (
        Agent(Remembering(), name=name, require_per_service_call_history_persistence=True) for name in ("desk", "guide")
    )
    builder = HandoffBuilder(name="Desk", participants=[desk, guide])
    return builder.with_start_agent(desk).add_handoff(desk, [guide]).add_handoff(guide, [desk]).build()


@pytest.mark.behaviour("workflows.asks")
@pytest.mark.behaviour("workflows.builders")
async def test_an_agent_is_shown_each_message_once_after_it_was_answered(tmp_path: Path) -> None:
    """microsoft/agent-framework#3226 and #2667: restored from a checkpoint, a hand-over showed its agents all twice."""
    environ = {"AGENT_LOG": f"sqlite:{tmp_path / 'log.sqlite'}"}
    said: list[str] = []
    body = await _begun(environ, said)
    for text in ("recall", "count"):
        async with served(app_of(workflow=desk_flow, environ=environ)) as (_, http):  # another process each time
            (waiting,) = body["pending_approvals"]
            body = await post(http, f"Desk/threads/t/approvals/{waiting['id']}", value=text)
            said.append(body["pending_approvals"][0]["arguments"]["agent_response"])

    assert said == ["hello", "say hello | recall", "5"]


async def _begun(environ: dict[str, str], said: list[str]) -> dict[str, Any]:
    async with served(app_of(workflow=desk_flow, environ=environ)) as (_, http):
        body = await post(http, "Desk/run", message="say hello", thread_id="t")
    said.append(body["pending_approvals"][0]["arguments"]["agent_response"])
    return body


class Keeper(Executor):
    """Keeps a text in the shared state and one of its own, and asks."""

    def __init__(self) -> None:
        super().__init__("keeper")
        self.own = ""

    @handler
    async def keep(self, text: str, ctx: WorkflowContext[str, str]) -> None:
        """Keep it."""
        self.own = f"own {text}"
        ctx.set_state("shared", Message("user", [text]))
        await ctx.request_info(text, bool)

    @response_handler
    async def go_on(self, asked: str, answer: bool, ctx: WorkflowContext[str, str]) -> None:
        """Send on what is kept."""
        await ctx.send_message(self.own)

    async def on_checkpoint_save(self) -> dict[str, Any]:
        """Return its own."""
        return {"own": self.own}

    async def on_checkpoint_restore(self, state: dict[str, Any]) -> None:
        """Take it."""
        self.own = state["own"]


class Reader(Executor):
    """Yields what is kept."""

    @handler
    async def read(self, own: str, ctx: WorkflowContext[Never, str]) -> None:
        """Yield it."""
        await ctx.yield_output(f"{own}, shared {ctx.get_state('shared').text}")


def keeping_flow() -> Workflow:
    """Return a workflow that keeps texts while it asks."""
    keeper = Keeper()
    return WorkflowBuilder(name="Keeping", start_executor=keeper).add_edge(keeper, Reader("reader")).build()


@pytest.mark.behaviour("workflows.asks")
@pytest.mark.parametrize("is_nested", [False, True])
async def test_what_was_kept_before_a_question_is_there_after_its_answer(tmp_path: Path, is_nested: bool) -> None:
    """microsoft/agent-framework#8299: the state was empty after an answer; #7137: in another process the workflow began
    anew.
    """

    def nested_flow() -> Workflow:
        inner = WorkflowExecutor(keeping_flow(), id="inner", allow_direct_output=True)
        return WorkflowBuilder(name="Keeping", start_executor=inner).build()

    environ = {"AGENT_LOG": f"sqlite:{tmp_path / 'log.sqlite'}"}
    flow = nested_flow if is_nested else keeping_flow
    async with served(app_of(workflow=flow, environ=environ)) as (_, http):
        (waiting,) = (await post(http, "Keeping/run", message="tea", thread_id="t"))["pending_approvals"]
    async with served(app_of(workflow=flow, environ=environ)) as (_, http):
        ended = await post(http, f"Keeping/threads/t/approvals/{waiting['id']}", value=True)

    assert (ended["status"], ended.get("response")) == ("success", "own tea, shared tea"), ended
