"""The MCP endpoint: raw exchanges as recorded, and the official client."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator

import httpx
import pytest
from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client

from tests.support.mcp_exchange import PATH, call, raw_client
from tests.support.running_host import RunningHost

pytestmark = pytest.mark.slow

TOOLS = ["as_dict", "broken", "envelope", "weather", "whoami"]
PING = '{"jsonrpc": "2.0", "id": 1, "method": "ping"}'
OWN = {"type": "text", "text": "own text"}
SHOWN = {"content": [{"type": "text", "text": "{'a': 1}"}]}


def failed(tool: str) -> dict[str, object]:
    """The result of a tool whose function failed, whose text nobody sees."""
    return {"content": [{"type": "text", "text": f"An error occurred invoking '{tool}'."}], "isError": True}


@pytest.fixture
async def mcp(host: RunningHost) -> AsyncIterator[httpx.AsyncClient]:
    async with raw_client(host) as client:
        yield client


@pytest.mark.behaviour("devhost.mcp-initialize")
async def test_initialize_answers_the_version_that_both_know_and_a_session_that_needs_no_memory(
    mcp: httpx.AsyncClient,
) -> None:
    """Unknown versions get the newest; server name, version and instructions come from host.json."""
    known = ("2024-11-05", "2025-03-26", "2025-06-18")
    for requested, answered in (
        *((each, each) for each in known),
        ("2025-11-25", known[-1]),
        ("1999-01-01", known[-1]),
    ):
        assert (await call(mcp, "initialize", {"protocolVersion": requested}))["result"] == {
            "protocolVersion": answered,
            "capabilities": {"logging": {}, "prompts": {}, "resources": {}, "tools": {}},
            "serverInfo": {"name": "ClassicApp", "version": "9.0"},
            "instructions": "be brief",
        }
    message = {"jsonrpc": "2.0", "id": 1, "method": "initialize"}
    state = (await mcp.post(PATH, json=message)).headers["mcp-session-id"]
    answer = await mcp.post(PATH, json={**message, "method": "ping"}, headers={"mcp-session-id": state})

    assert (answer.status_code, answer.headers.get("mcp-session-id")) == (200, None)
    assert [len(part) for part in state.split("|")] == [16, 16]


@pytest.mark.behaviour("devhost.mcp-tools")
async def test_tools_are_listed_by_name_with_their_schemas_and_receive_arguments_session_and_headers(
    mcp: httpx.AsyncClient,
) -> None:
    """Required is always there; a list property is an array of its type. Types of arguments are not checked."""
    tools = (await call(mcp, "tools/list"))["result"]["tools"]
    params = {"name": "WEATHER", "arguments": {"city": 5, "extra": None}}
    result = (await call(mcp, "tools/call", params, **{"mcp-session-id": "a1|b2", "x-test": "1"}))["result"]

    assert [tool["name"] for tool in tools] == TOOLS
    assert tools[1]["inputSchema"] == {"type": "object", "properties": {}, "required": []}
    assert tools[3] == {
        "name": "weather",
        "description": "Tells the weather",
        "inputSchema": {
            "type": "object",
            "properties": {
                "city": {"type": "string", "description": "Where."},
                "days": {"type": "integer", "description": "How many."},
                "tags": {"type": "array", "items": {"type": "string"}, "description": "Tags."},
            },
            "required": ["city"],
        },
    }
    assert list(result) == ["content"]
    seen = json.loads(result["content"][0]["text"].removeprefix("seen "))
    shown = seen["transport"].pop("properties")["headers"]
    assert (shown["X-Test"], shown["Mcp-Session-Id"]) == ("1", "a1|b2")
    assert seen == {**params, "sessionid": "a1|b2", "transport": {"name": "http-streamable", "sessionId": "a1|b2"}}


@pytest.mark.behaviour("devhost.mcp-refusals")
@pytest.mark.parametrize(
    ("method", "params", "code", "message"),
    [
        ("tools/call", {"name": "nosuch"}, -32602, "Unknown tool: 'nosuch'"),
        ("tools/call", None, -32602, "Unknown tool: ''"),
        ("tools/call", {}, -32603, "An error occurred."),
        (
            "tools/call",
            {"name": "weather", "arguments": {"city": None}},
            -32602,
            "One or more required tool properties are missing values. Please provide: city",
        ),
        ("nope/nope", None, -32601, "Method 'nope/nope' is not available."),
        ("resources/read", {"uri": "file://nosuch"}, -32602, "Unknown resource: 'file://nosuch'"),
        ("prompts/get", {"name": "p"}, -32602, "Unknown prompt: 'p'"),
    ],
)
async def test_a_call_that_cannot_be_served_is_a_json_rpc_error(
    mcp: httpx.AsyncClient, method: str, params: object, code: int, message: str
) -> None:
    """Status 200, code and text as recorded."""
    assert await call(mcp, method, params) == {"error": {"code": code, "message": message}}


@pytest.mark.behaviour("devhost.mcp-results")
@pytest.mark.parametrize(
    ("tool", "mode", "result"),
    [
        (
            "envelope",
            "call",
            {"content": [OWN] * 2, "structuredContent": {"a": 1}, "isError": True, "_meta": {"k": "v"}},
        ),
        ("envelope", "empty_call", {"content": []}),
        ("envelope", "several", {"content": [OWN], "structuredContent": {"s": 1}}),
        ("envelope", "one", {"content": [OWN]}),
        *(("envelope", mode, failed("envelope")) for mode in ("no_block", "nested", "plain")),
        ("broken", "", failed("broken")),
        ("as_dict", "", SHOWN),
    ],
)
async def test_a_tools_answer_becomes_a_text_or_what_its_envelope_describes(
    mcp: httpx.AsyncClient, tool: str, mode: str, result: object
) -> None:
    """`useResultSchema`: whole results, several blocks, one block; else it failed. A dict comes as Python shows it."""
    assert (await call(mcp, "tools/call", {"name": tool, "arguments": {"mode": mode}}))["result"] == result


@pytest.mark.behaviour("devhost.mcp-transport")
@pytest.mark.parametrize(
    ("body", "headers", "status"),
    [
        *((body, {}, 500) for body in ("{", "", "[]", "{}", '"x"', '{"id": 1, "method": "ping"}')),
        *((PING.replace("1", number), {}, 500) for number in ("null", "1.5")),
        ('{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}}', {}, 500),
        ("null", {}, 400),
        ('{"jsonrpc": "2.0", "method": "notifications/initialized"}', {}, 202),
        ('{"jsonrpc": "2.0", "method": "tools/list"}', {}, 202),
        ('{"jsonrpc": "2.0", "id": 1, "result": {}}', {}, 202),
        (PING, {"accept": "application/*, text/*"}, 200),
        (PING, {"accept": "application/json;q=0.5, text/event-stream;q=0.1"}, 200),
        *((PING, {"accept": kind}, 406) for kind in ("text/event-stream", "application/json", "")),
        (PING, {"content-type": "text/plain"}, 500),
        (PING, {"mcp-session-id": "bogus"}, 400),
    ],
)
async def test_bodies_and_headers_are_taken_or_refused_by_the_recorded_status(
    mcp: httpx.AsyncClient, body: str, headers: dict[str, str], status: int
) -> None:
    """Unreadable messages are an empty 500, notifications and answers an empty 202; both media types are asked for."""
    answer = await mcp.post(PATH, content=body, headers=headers)
    assert answer.status_code == status
    assert headers or (answer.content == b"") == (status != 400)


@pytest.mark.behaviour("devhost.mcp-transport")
async def test_other_verbs_are_refused_as_recorded(mcp: httpx.AsyncClient) -> None:
    recorded = {"GET": 405, "DELETE": 405, "PUT": 405, "OPTIONS": 405, "HEAD": 404, "PATCH": 404}
    assert {verb: (await mcp.request(verb, PATH)).status_code for verb in recorded} == recorded


@pytest.mark.behaviour("devhost.mcp-official-client")
async def test_the_official_client_lists_and_calls_tools(host: RunningHost) -> None:
    async with streamable_http_client(host.origin + PATH) as streams, ClientSession(*streams[:2]) as session:
        greeting = await session.initialize()
        tools = await session.list_tools()
        result = await session.call_tool("weather", {"city": "Oslo"})
    assert greeting.instructions == "be brief"
    assert [tool.name for tool in tools.tools] == TOOLS
    assert '"arguments":{"city":"Oslo"}' in result.content[0].text
