"""The official client against an app with resources and prompts: what it gets passes its own validation."""

from __future__ import annotations

import base64

import pytest
from mcp import ClientSession, MCPError
from mcp.client.streamable_http import streamable_http_client

from tests.support.mcp_exchange import PATH
from tests.support.running_host import RunningHost

pytestmark = pytest.mark.slow


@pytest.mark.behaviour("mcp.resources")
async def test_the_official_client_lists_and_reads_resources(offers_host: RunningHost) -> None:
    """Text, bytes and a template's."""
    async with (
        streamable_http_client(offers_host.origin + PATH) as streams,
        ClientSession(*streams[:2]) as session,
    ):
        await session.initialize()
        listed = {resource.name: resource.uri for resource in (await session.list_resources()).resources}
        templates = (await session.list_resource_templates()).resource_templates
        hours = (await session.read_resource(listed["opening hours"])).contents[0]
        logo = (await session.read_resource(listed["logo"])).contents[0]

    assert [template.uri_template for template in templates] == ["shop://items/{id}/parts/{part}"]
    assert (hours.text, hours.mime_type) == ("9 to 5", "text/plain")
    assert base64.b64decode(logo.blob) == b"\x00\x01"


@pytest.mark.behaviour("mcp.prompts")
async def test_the_official_client_lists_and_gets_prompts(offers_host: RunningHost) -> None:
    """One with arguments, and one whose required argument is missing."""
    async with (
        streamable_http_client(offers_host.origin + PATH) as streams,
        ClientSession(*streams[:2]) as session,
    ):
        await session.initialize()
        listed = {prompt.name: prompt for prompt in (await session.list_prompts()).prompts}
        output = (await session.get_prompt("greet", {"who": "me"})).messages
        with pytest.raises(MCPError, match="Please provide: who"):
            await session.get_prompt("greet", {})

    assert [(argument.name, argument.required) for argument in listed["greet"].arguments or []] == [
        ("who", True),
        ("how", False),
    ]
    assert [message.role for message in output] == ["user"]
    assert output[0].content.text.startswith('greet: {"who": "me"} of ')
