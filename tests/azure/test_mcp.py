"""The agents as MCP tools at a running host, for the official client."""

from collections.abc import AsyncIterator

import httpx
import pytest
from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client

from tests.azure.target import Target

PATH = "/runtime/webhooks/mcp"


@pytest.fixture
async def tool(client: httpx.AsyncClient) -> str:
    """The tool of the first agent that has one."""
    agents = (await client.get("/api/agents")).json()["agents"]
    tools = [agent["mcp_tool"] for agent in agents if agent["mcp_tool"]]
    if not tools:
        pytest.skip("no agent of this app is an MCP tool")
    return str(tools[0])


@pytest.fixture
async def mcp_client(target: Target) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(headers=target.mcp_headers, timeout=120) as client:
        yield client


async def test_an_agent_is_called_as_a_tool_and_its_thread_goes_on(
    target: Target, tool: str, mcp_client: httpx.AsyncClient
) -> None:
    async with (
        streamable_http_client(target.url + PATH, http_client=mcp_client) as streams,
        ClientSession(*streams[:2]) as session,
    ):
        await session.initialize()
        listed = [found.name for found in (await session.list_tools()).tools]
        first = await session.call_tool(tool, {"query": "Say hello."})
        place = first.structured_content or {}
        second = await session.call_tool(tool, {"query": "Say it again.", "threadId": place["thread_id"]})

    assert tool in listed
    assert not first.is_error
    assert (second.structured_content or {})["thread_id"] == place["thread_id"]


async def test_the_endpoint_asks_for_its_own_key(target: Target) -> None:
    if not target.mcp_key:
        pytest.skip("no key of the MCP endpoint given (--mcp-key)")
    ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    async with httpx.AsyncClient(base_url=target.url, timeout=60) as anonymous:
        answers = [await anonymous.post(PATH, json=ping, headers=headers) for headers in ({}, target.headers)]

    assert [answer.status_code for answer in answers] == [401, 403]
