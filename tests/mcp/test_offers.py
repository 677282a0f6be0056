"""MCP resources and prompts on the local host, as recorded from the real one; and its keys."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client

from tests.support.mcp_exchange import HEADERS, PATH, call
from tests.support.running_host import GUARD_SECONDS, RunningHost

pytestmark = [pytest.mark.slow, pytest.mark.behaviour("mcp.resources"), pytest.mark.behaviour("mcp.prompts")]

HOURS = {
    "name": "opening hours",
    "title": "Opening hours",
    "uri": "shop://hours",
    "description": "When the shop is open",
    "mimeType": "text/plain",
    "_meta": {"k": "v"},
}
PART = {"name": "part", "uriTemplate": "shop://items/{id}/parts/{part}", "mimeType": "application/json"}
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
MESSAGES = '{"messages": [{"role": "assistant", "content": {"type": "text", "text": "not read"}}]}'
READ = {"role": "assistant", "content": {"type": "text", "text": "read"}}
FAILED = {"error": {"code": -32603, "message": "An error occurred."}}
MISSING = "One or more required prompt arguments are missing values. Please provide: who"


def refused(message: str) -> dict[str, object]:
    return {"error": {"code": -32602, "message": message}}


def prompt(text: str) -> dict[str, object]:
    """Return the answer that holds one text of the user."""
    return {"result": {"messages": [{"content": {"type": "text", "text": text}, "role": "user"}]}}


async def test_what_is_offered_is_listed_by_name(client: httpx.AsyncClient) -> None:
    """Templates apart. Members that were not declared are left out; whether an argument is required always shows."""
    resources = (await call(client, "resources/list"))["result"]["resources"]
    templates = (await call(client, "resources/templates/list"))["result"]["resourceTemplates"]
    prompts = (await call(client, "prompts/list"))["result"]["prompts"]

    names = ["all parts", "broken", "logo", "opening hours", "own", "own wrong"]
    assert [resource["name"] for resource in resources] == names
    assert resources[1] == {"name": "broken", "uri": "shop://broken"}
    assert list(resources[3].items()) == list(HOURS.items())
    assert templates == [PART]
    assert prompts == [{"name": "broken prompt"}, DECORATED, GREET, {"name": "talk"}]
    assert list(prompts[2]) == list(GREET)


@pytest.mark.parametrize(
    ("uri", "content"),
    [
        ("shop://hours", {"mimeType": "text/plain", "text": "9 to 5"}),
        ("SHOP://Hours", {"mimeType": "text/plain", "text": "9 to 5"}),
        ("shop://logo", {"mimeType": "application/octet-stream", "blob": "AAE="}),
        ("shop://items/1/parts/all", {"text": "all"}),
        ("shop://own", {"mimeType": "text/x-own", "text": "own"}),
    ],
)
async def test_a_resource_is_read_in_any_case_under_the_address_asked_for(
    client: httpx.AsyncClient, uri: str, content: dict[str, str]
) -> None:
    """Text as text, bytes as a blob, an envelope as what it holds; a plain address wins over a template."""
    assert await call(client, "resources/read", {"uri": uri}) == {"result": {"contents": [{"uri": uri, **content}]}}


async def test_a_template_matches_one_segment_per_place_and_the_function_gets_the_address(
    client: httpx.AsyncClient,
) -> None:
    """The trigger's text has no values of places; with a session, the session."""
    uri = "shop://items/7/parts/left"
    answer = await call(client, "resources/read", {"uri": uri}, **{"mcp-session-id": "a1|b2"})

    seen = json.loads(answer["result"]["contents"][0]["text"])
    assert seen.pop("transport")["sessionId"] == "a1|b2"
    assert seen == {"uri": uri, "sessionid": "a1|b2"}


@pytest.mark.parametrize(
    ("params", "answer"),
    [
        ({"name": "GREET", "arguments": {"who": "me"}}, prompt('GREET: {"who": "me"} of a1|b2')),
        ({"name": "decorated"}, prompt(MESSAGES)),
        ({"name": "talk", "arguments": {"mode": "whole"}}, {"result": {"description": "d", "messages": [READ]}}),
        ({"name": "talk", "arguments": {"mode": "messages"}}, {"result": {"messages": [READ]}}),
        ({"name": "talk", "arguments": {"mode": "unknown"}}, FAILED),
        ({"name": "nosuch"}, refused("Unknown prompt: 'nosuch'")),
        ({"name": "greet", "arguments": {}}, refused(MISSING)),
        ({"name": "greet"}, refused(MISSING)),
        ({"name": "broken prompt"}, FAILED),
        ({}, FAILED),
    ],
)
async def test_a_prompt_is_one_text_or_with_result_schema_the_messages(
    client: httpx.AsyncClient, params: object, answer: object
) -> None:
    """Without result schema the JSON of messages stays text. The function's own text of an error stays on this side."""
    assert await call(client, "prompts/get", params, **{"mcp-session-id": "a1|b2"}) == answer


@pytest.mark.parametrize(
    ("uri", "answer"),
    [
        ("shop://nosuch", refused("Unknown resource: 'shop://nosuch'")),
        ("shop://items/7/8/parts/left", refused("Unknown resource: 'shop://items/7/8/parts/left'")),
        ("shop://broken", FAILED),
        ("shop://own/wrong", FAILED),
        (5, FAILED),
    ],
)
async def test_a_resource_that_cannot_be_read_is_a_json_rpc_error(
    client: httpx.AsyncClient, uri: object, answer: object
) -> None:
    """Code and text as recorded; the function's own text stays on this side."""
    assert await call(client, "resources/read", {"uri": uri}) == answer


async def test_the_official_client_reads_what_is_offered(offers_host: RunningHost) -> None:
    """It validates each result."""
    async with (
        streamable_http_client(offers_host.origin + PATH) as streams,
        ClientSession(*streams[:2]) as session,
    ):
        await session.initialize()
        resources = (await session.list_resources()).resources
        read = [await session.read_resource(each.uri) for each in resources if each.name in ("logo", "opening hours")]
        templates = (await session.list_resource_templates()).resource_templates
        prompts = (await session.list_prompts()).prompts
        greeted = (await session.get_prompt("greet", {"who": "me"})).messages

    assert (len(read), len(templates), len(prompts)) == (2, 1, 4)
    assert greeted[0].content.text.startswith('greet: {"who": "me"} of ')


KEYS = {"master": "m", "host": "h", "functions": {}, "system": {"durabletask_extension": "d", "mcp_extension": "t"}}
PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}


@pytest.fixture(scope="module")
def keyed_host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningHost]:
    """The app with resources and prompts, started with `--auth`."""
    source = Path(__file__).parent / "apps" / "offers"
    folder = shutil.copytree(source, tmp_path_factory.mktemp("keyed") / "app")
    (folder / ".devhost").mkdir(exist_ok=True)
    (folder / ".devhost" / "keys.json").write_text(json.dumps(KEYS), encoding="utf-8")
    with RunningHost(folder, "--port", "0", "--auth") as host:
        yield host


@pytest.mark.behaviour("mcp.key")
@pytest.mark.parametrize(
    ("headers", "query", "status"),
    [
        ({}, "", 401),
        ({"x-functions-key": "wrong"}, "", 401),
        ({"x-functions-key": "h"}, "", 403),
        ({"x-functions-key": "t"}, "", 200),
        ({"x-functions-key": "m"}, "", 200),
        ({}, "?code=t", 200),
    ],
)
async def test_the_endpoint_opens_to_its_system_key_and_the_masters(
    keyed_host: RunningHost, headers: dict[str, str], query: str, status: int
) -> None:
    """In the header or the query, and before anything else of the request is looked at."""
    async with httpx.AsyncClient(timeout=GUARD_SECONDS) as client:
        answer = await client.post(keyed_host.origin + PATH + query, json=PING, headers={**HEADERS, **headers})

    assert answer.status_code == status
