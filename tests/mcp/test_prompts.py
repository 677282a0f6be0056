"""MCP prompts on the local host, as recorded from the real one."""

from __future__ import annotations

import httpx
import pytest

from tests.support.mcp_exchange import call

pytestmark = pytest.mark.slow

GREET = {
    "name": "greet",
    "title": "Greeting",
    "description": "Greets",
    "arguments": [
        {"name": "who", "description": "Whom to greet", "required": True},
        {"name": "how", "required": False},
    ],
}
DECORATED = {"name": "decorated", "icons": [{"src": "https://example.com/icon.png"}], "_meta": {"k": "v"}}
READ = {"role": "assistant", "content": {"type": "text", "text": "read"}}
FAILED = {"error": {"code": -32603, "message": "An error occurred."}}
MISSING = "One or more required prompt arguments are missing values. Please provide: who"


def output(text: str) -> dict[str, object]:
    """Return the answer that holds one text of the user."""
    return {"result": {"messages": [{"content": {"type": "text", "text": text}, "role": "user"}]}}


@pytest.mark.behaviour("mcp.prompts")
async def test_prompts_are_listed_by_name_with_their_arguments(client: httpx.AsyncClient) -> None:
    """Members that were not declared are left out; whether an argument is required always shows."""
    prompts = (await call(client, "prompts/list"))["result"]["prompts"]

    assert prompts == [{"name": "broken prompt"}, DECORATED, GREET, {"name": "talk"}]
    assert list(prompts[2]) == list(GREET)


@pytest.mark.behaviour("mcp.prompts")
@pytest.mark.parametrize("name", ["greet", "GREET"])
async def test_a_prompt_is_one_text_of_the_user(client: httpx.AsyncClient, name: str) -> None:
    """Asked for in any case; the function sees the name, the arguments and the session as they were sent."""
    params = {"name": name, "arguments": {"who": "me"}}

    answer = await call(client, "prompts/get", params, **{"mcp-session-id": "a1|b2"})

    assert answer == output(f'{name}: {{"who": "me"}} of a1|b2')


@pytest.mark.behaviour("mcp.prompts")
async def test_the_json_of_messages_stays_text(client: httpx.AsyncClient) -> None:
    """Without result schema, nothing is read out of it."""
    text = '{"messages": [{"role": "assistant", "content": {"type": "text", "text": "not read"}}]}'

    assert await call(client, "prompts/get", {"name": "decorated"}) == output(text)


@pytest.mark.behaviour("mcp.prompts")
@pytest.mark.parametrize(
    ("mode", "answer"),
    [
        ("whole", {"result": {"description": "d", "messages": [READ]}}),
        ("messages", {"result": {"messages": [READ]}}),
        ("unknown", FAILED),
    ],
)
async def test_with_result_schema_the_envelope_says_the_messages(
    client: httpx.AsyncClient, mode: str, answer: object
) -> None:
    """A whole result, or a list of messages; anything else is a failed call."""
    assert await call(client, "prompts/get", {"name": "talk", "arguments": {"mode": mode}}) == answer


@pytest.mark.behaviour("mcp.prompts")
@pytest.mark.parametrize(
    ("params", "answer"),
    [
        ({"name": "nosuch"}, {"error": {"code": -32602, "message": "Unknown prompt: 'nosuch'"}}),
        ({"name": "greet", "arguments": {}}, {"error": {"code": -32602, "message": MISSING}}),
        ({"name": "greet"}, {"error": {"code": -32602, "message": MISSING}}),
        ({"name": "broken prompt"}, FAILED),
        ({}, FAILED),
    ],
)
async def test_a_prompt_that_cannot_be_given_is_a_json_rpc_error(
    client: httpx.AsyncClient, params: object, answer: object
) -> None:
    """Code and text as recorded; the function's own text stays on this side."""
    assert await call(client, "prompts/get", params) == answer
