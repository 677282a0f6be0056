"""MCP resources on the local host, as recorded from the real one."""

from __future__ import annotations

import json

import httpx
import pytest

from tests.support.mcp_exchange import call

pytestmark = pytest.mark.slow

HOURS = {
    "name": "opening hours",
    "title": "Opening hours",
    "uri": "shop://hours",
    "description": "When the shop is open",
    "mimeType": "text/plain",
    "_meta": {"k": "v"},
}
PART = {"name": "part", "uriTemplate": "shop://items/{id}/parts/{part}", "mimeType": "application/json"}
FAILED = {"error": {"code": -32603, "message": "An error occurred."}}


@pytest.mark.behaviour("mcp.resources")
async def test_resources_are_listed_by_name_and_templates_apart(client: httpx.AsyncClient) -> None:
    """Members that were not declared are left out, and so is the size."""
    resources = (await call(client, "resources/list"))["result"]["resources"]
    templates = (await call(client, "resources/templates/list"))["result"]["resourceTemplates"]

    assert [resource["name"] for resource in resources] == [
        "all parts",
        "broken",
        "logo",
        "opening hours",
        "own",
        "own wrong",
    ]
    assert resources[1] == {"name": "broken", "uri": "shop://broken"}
    assert list(resources[3].items()) == list(HOURS.items())
    assert templates == [PART]


@pytest.mark.behaviour("mcp.resources")
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


@pytest.mark.behaviour("mcp.resources")
async def test_a_template_matches_one_segment_per_place_and_the_function_gets_the_address(
    client: httpx.AsyncClient,
) -> None:
    """The trigger's text has no values of places; with a session, the session."""
    uri = "shop://items/7/parts/left"
    answer = await call(client, "resources/read", {"uri": uri}, **{"mcp-session-id": "a1|b2"})

    seen = json.loads(answer["result"]["contents"][0]["text"])
    assert seen.pop("transport")["sessionId"] == "a1|b2"
    assert seen == {"uri": uri, "sessionid": "a1|b2"}


@pytest.mark.behaviour("mcp.resources")
@pytest.mark.parametrize(
    ("params", "answer"),
    [
        (
            {"uri": "shop://nosuch"},
            {"error": {"code": -32602, "message": "Unknown resource: 'shop://nosuch'"}},
        ),
        (
            {"uri": "shop://items/7/8/parts/left"},
            {"error": {"code": -32602, "message": "Unknown resource: 'shop://items/7/8/parts/left'"}},
        ),
        ({"uri": "shop://broken"}, FAILED),
        ({"uri": "shop://own/wrong"}, FAILED),
        ({"uri": 5}, FAILED),
    ],
)
async def test_a_resource_that_cannot_be_read_is_a_json_rpc_error(
    client: httpx.AsyncClient, params: object, answer: object
) -> None:
    """Code and text as recorded; the function's own text stays on this side."""
    assert await call(client, "resources/read", params) == answer
