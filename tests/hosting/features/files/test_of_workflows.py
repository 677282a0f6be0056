"""The files of agents that only a workflow has: kept with the workflow's state, or for the owner of its thread."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from agent_framework import (
    Agent,
    ContextProvider,
    FileAccessProvider,
    FileSystemAgentFileStore,
    Workflow,
    WorkflowBuilder,
    workflow,
)

from hosting.offline.model import OfflineChatClient
from tests.support.owned_app import OwnedApp

pytestmark = [pytest.mark.behaviour("files.of-workflows"), pytest.mark.filterwarnings("ignore:.*experimental")]

RUN = "/api/workflows/Flow/run"
LONG = "Kilometre by kilometre." * 40


def writer(*providers: ContextProvider) -> Agent[Any]:
    """Return an agent with these providers, whose model calls the tool that it is told to."""
    return Agent(client=OfflineChatClient(), name="Writer", context_providers=providers)


def graph(agent: Agent[Any]) -> Workflow:
    return WorkflowBuilder(name="Flow", start_executor=agent).build()


def given_graph(provider: Callable[[], ContextProvider]) -> Any:
    return graph(writer(provider()))


def built_graph(provider: Callable[[], ContextProvider]) -> Any:
    """What builds a graph with an agent of its own for each attempt."""
    return lambda: graph(writer(provider()))


def function(provider: Callable[[], ContextProvider]) -> Any:
    agent = writer(provider())

    @workflow(name="Flow")
    async def flow(text: str) -> str:
        return (await agent.run(text)).text

    return flow


def call(tool: str, **arguments: Any) -> str:
    """Return the message that has the offline model call a tool."""
    return f"Call {tool} with {json.dumps(arguments)}"


async def run(app: OwnedApp, user: str, message: str, thread_id: str = "t") -> str:
    answer = await app.ask(user, "POST", RUN, json={"message": message, "thread_id": thread_id})
    assert answer.status_code == 200, answer.text
    return str(answer.json()["response"])


@pytest.mark.parametrize("flow", [given_graph, built_graph, function])
async def test_shared_files_of_a_workflow_s_agent_are_its_owner_s(flow: Callable[..., Any], tmp_path: Path) -> None:
    """In all threads of the owner with the workflow, over those that were deployed; they are exported and erased."""
    (tmp_path / "about.md").write_text("About us")
    asks = {"disable_readonly_tool_approval": True, "disable_write_tool_approval": True}
    app = OwnedApp(workflows=[flow(lambda: FileAccessProvider(FileSystemAgentFileStore(tmp_path), **asks))])
    async with app.http:
        await run(app, "ada", call("file_access_write", file_name="a.md", content=LONG))
        [read, other, deployed] = [
            await run(app, user, call("file_access_read", file_name=name), "another")
            for user, name in (("ada", "a.md"), ("bob", "a.md"), ("ada", "about.md"))
        ]
        exported = (await app.ask("ada", "GET", "/api/owners/me/export")).json()["files"]
        await app.ask("ada", "DELETE", "/api/owners/me")
        left = await run(app, "ada", call("file_access_read", file_name="a.md"))

    assert (LONG in read, LONG in other, "About us" in deployed, LONG in left) == (True, False, True, False)
    assert exported == {"Flow": {"file_access": {"a.md": LONG}}}
    assert [path.name for path in tmp_path.iterdir()] == ["about.md"]
