"""The options of an agent's model as an argument of its tool: the official client on the local host."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult

from tests.support.app_folder import make_app
from tests.support.running_host import RunningHost

pytestmark = [pytest.mark.slow, pytest.mark.behaviour("options.doors")]

EXTENSION, ENDPOINT = "/runtime/webhooks/mcp", "/api/mcp/v1"
BOUNDS = {
    "temperature": {"type": "number", "minimum": 0, "maximum": 1},
    "max_tokens": {"type": "integer", "minimum": 1, "maximum": 200},
}
SOURCE = """\
from tests.support.obedient import obedient

from hosting.app import AgentFunctionApp

app = AgentFunctionApp(agents=[obedient("Mute")], enable_mcp_tool_trigger=True, wires=["mcp"])
app.add_agent(obedient(), options={"temperature": (0, 1), "max_tokens": 200})
"""


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningHost]:
    """An app of an agent that lets its callers choose, and of one that does not."""
    with RunningHost(make_app(tmp_path_factory.mktemp("app"), SOURCE), environ={"AGENT_LOG": "memory"}) as running:
        yield running


@asynccontextmanager
async def client_at(host: RunningHost, path: str) -> AsyncIterator[ClientSession]:
    """Connect the official client; not a fixture, because its scopes belong to the test's task."""
    async with streamable_http_client(host.origin + path) as streams, ClientSession(*streams[:2]) as session:
        await session.initialize()
        yield session


async def called(client: ClientSession, **options: Any) -> tuple[str, dict[str, Any]]:
    """Return the text and the structure of a result, which the client has checked by the tool's own schema."""
    result = await client.call_tool("Joker", {"query": "hello", "options": options})
    assert isinstance(result, CallToolResult)
    assert result.structured_content is not None
    return str(getattr(result.content[0], "text", "")), result.structured_content


@pytest.mark.parametrize("path", [EXTENSION, ENDPOINT], ids=["extension", "endpoint"])
async def test_the_official_client_gives_options_within_what_the_tool_says(host: RunningHost, path: str) -> None:
    """A tool of an agent that lets its callers set none has no such argument."""
    async with client_at(host, path) as client:
        tools = {tool.name: tool.input_schema["properties"] for tool in (await client.list_tools()).tools}
        obeyed = await called(client, temperature=0.5, max_tokens=20)
        ignored = await called(client, seed=3)
        refused = await called(client, temperature=2)

    assert [*tools["Mute"]] == ["query", "threadId", "sessionId"]
    argument = tools["Joker"]["options"]
    assert argument["type"] == "object"
    assert (
        json.dumps(BOUNDS) in json.dumps(argument)
        if path == ENDPOINT
        else json.dumps(BOUNDS) in argument["description"]
    )
    assert json.loads(obeyed[0]) == {"temperature": 0.5, "max_tokens": 20}
    assert ("ignored" in obeyed[1], ignored[1]["ignored"]) == (False, ["options.seed"])
    assert refused == (
        "The field 'options.temperature' is '2' and must be a number from 0 to 1.",
        {"code": "invalid_field"},
    )
