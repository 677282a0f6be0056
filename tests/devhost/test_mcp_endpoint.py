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


@pytest.fixture
async def client(classic_host: RunningHost) -> AsyncIterator[httpx.AsyncClient]:
    async with raw_client(classic_host) as client:
        yield client


@pytest.mark.behaviour("devhost.mcp-initialize")
@pytest.mark.parametrize(
    ("requested", "answered"),
    [
        ("2024-11-05", "2024-11-05"),
        ("2025-03-26", "2025-03-26"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-06-18"),
        ("1999-01-01", "2025-06-18"),
    ],
)
async def test_initialize_answers_the_version_that_both_know(client, requested, answered):
    """Unknown ones get the newest; server name, version and instructions come from host.json."""
    result = (await call(client, "initialize", {"protocolVersion": requested}))["result"]
    assert result == {
        "protocolVersion": answered,
        "capabilities": {"logging": {}, "prompts": {}, "resources": {}, "tools": {}},
        "serverInfo": {"name": "ClassicApp", "version": "9.0"},
        "instructions": "be brief",
    }


@pytest.mark.behaviour("devhost.mcp-initialize")
async def test_only_initialize_hands_out_a_session_and_any_shaped_one_is_taken(client):
    message = {"jsonrpc": "2.0", "id": 1, "method": "initialize"}
    state = (await client.post(PATH, json=message)).headers["mcp-session-id"]
    answer = await client.post(PATH, json={**message, "method": "ping"}, headers={"mcp-session-id": state})
    assert (answer.status_code, answer.headers.get("mcp-session-id")) == (200, None)
    assert [len(part) for part in state.split("|")] == [16, 16]


@pytest.mark.behaviour("devhost.mcp-tools")
async def test_tools_are_listed_by_name_with_their_schemas(client):
    """Required is always there; a list property is an array of its type."""
    tools = (await call(client, "tools/list"))["result"]["tools"]
    assert [tool["name"] for tool in tools] == ["as_dict", "broken", "envelope", "weather"]
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


@pytest.mark.behaviour("devhost.mcp-tools")
async def test_a_tool_receives_name_arguments_session_and_headers(client):
    """One text block with what the function returned; argument types are not checked."""
    params = {"name": "WEATHER", "arguments": {"city": 5, "extra": None}}
    session = {"mcp-session-id": "a1|b2", "x-test": "1"}
    result = (await call(client, "tools/call", params, **session))["result"]
    assert list(result) == ["content"]
    text = result["content"][0]["text"]
    seen = json.loads(text.removeprefix("seen "))
    shown = seen["transport"]["properties"]["headers"]
    assert (shown["X-Test"], shown["Mcp-Session-Id"]) == ("1", "a1|b2")
    assert {**seen, "transport": {**seen["transport"], "properties": None}} == {
        "name": "WEATHER",
        "arguments": {"city": 5, "extra": None},
        "sessionid": "a1|b2",
        "transport": {"name": "http-streamable", "sessionId": "a1|b2", "properties": None},
    }


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
async def test_a_call_that_cannot_be_served_is_a_json_rpc_error(client, method, params, code, message):
    """Status 200, code and text as recorded."""
    assert await call(client, method, params) == {"error": {"code": code, "message": message}}


FAILED = {"content": [{"type": "text", "text": "An error occurred invoking 'envelope'."}], "isError": True}
OWN = {"type": "text", "text": "own text"}


@pytest.mark.behaviour("devhost.mcp-results")
@pytest.mark.parametrize(
    ("mode", "result"),
    [
        ("call", {"content": [OWN, OWN], "structuredContent": {"a": 1}, "isError": True, "_meta": {"k": "v"}}),
        ("empty_call", {"content": []}),
        ("several", {"content": [OWN], "structuredContent": {"s": 1}}),
        ("one", {"content": [OWN]}),
        ("no_block", FAILED),
        ("nested", FAILED),
        ("plain", FAILED),
    ],
)
async def test_a_result_envelope_becomes_the_result_that_it_describes(client, mode, result):
    """`useResultSchema`: whole results, several blocks, one block; anything else is a failed call."""
    assert (await call(client, "tools/call", {"name": "envelope", "arguments": {"mode": mode}}))["result"] == result


@pytest.mark.behaviour("devhost.mcp-results")
@pytest.mark.parametrize(
    ("tool", "text", "is_error"),
    [("broken", "An error occurred invoking 'broken'.", True), ("as_dict", "{'a': 1}", None)],
)
async def test_failures_hide_their_text_and_dicts_come_as_python_shows_them(client, tool, text, is_error):
    """Both as on the real host."""
    result = (await call(client, "tools/call", {"name": tool}))["result"]
    assert (result["content"], result.get("isError")) == ([{"type": "text", "text": text}], is_error)


@pytest.mark.behaviour("devhost.mcp-transport")
@pytest.mark.parametrize(
    ("body", "status"),
    [
        ("{", 500),
        ("", 500),
        ("[]", 500),
        ("{}", 500),
        ('"x"', 500),
        ('{"id": 1, "method": "ping"}', 500),
        ('{"jsonrpc": "2.0", "id": null, "method": "ping"}', 500),
        ('{"jsonrpc": "2.0", "id": 1.5, "method": "ping"}', 500),
        ('{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}}', 500),
        ("null", 400),
        ('{"jsonrpc": "2.0", "method": "notifications/initialized"}', 202),
        ('{"jsonrpc": "2.0", "method": "tools/list"}', 202),
        ('{"jsonrpc": "2.0", "id": 1, "result": {}}', 202),
    ],
)
async def test_a_body_is_taken_or_refused_by_the_recorded_status(client, body, status):
    """Unreadable messages are an empty 500, notifications and answers an empty 202."""
    answer = await client.post(PATH, content=body)
    assert (answer.status_code, answer.content == b"") == (status, status != 400)


@pytest.mark.behaviour("devhost.mcp-transport")
@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"accept": "*/*"}, 200),
        ({"accept": "application/*, text/*"}, 200),
        ({"accept": "application/json;q=0.5, text/event-stream;q=0.1"}, 200),
        ({"accept": "text/event-stream"}, 406),
        ({"accept": "application/json"}, 406),
        ({"accept": ""}, 406),
        ({"content-type": "text/plain"}, 500),
        ({"mcp-session-id": "bogus"}, 400),
    ],
)
async def test_the_headers_decide_as_recorded(client, headers, status):
    """Both media types must be accepted; the content must be JSON; a session must have a session's shape."""
    body = '{"jsonrpc": "2.0", "id": 1, "method": "ping"}'
    assert (await client.post(PATH, content=body, headers=headers)).status_code == status


@pytest.mark.behaviour("devhost.mcp-transport")
@pytest.mark.parametrize(
    ("method", "status"),
    [("GET", 405), ("DELETE", 405), ("PUT", 405), ("OPTIONS", 405), ("HEAD", 404), ("PATCH", 404)],
)
async def test_other_verbs_are_refused_as_recorded(client, method, status):
    assert (await client.request(method, PATH)).status_code == status


@pytest.mark.behaviour("devhost.mcp-official-client")
async def test_the_official_client_lists_and_calls_tools(classic_host):
    async with (
        streamable_http_client(classic_host.origin + PATH) as streams,
        ClientSession(*streams[:2]) as session,
    ):
        greeting = await session.initialize()
        tools = await session.list_tools()
        result = await session.call_tool("weather", {"city": "Oslo"})
    assert greeting.instructions == "be brief"
    assert [tool.name for tool in tools.tools] == ["as_dict", "broken", "envelope", "weather"]
    assert '"arguments":{"city":"Oslo"}' in result.content[0].text
