"""The MCP Inspector's command line against the template's app on the local host."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.mcp.listed import not_applicable
from tests.mcp.node_packages import NodePackages

HEADING = "Inspector methods that do not apply"
pytestmark = [pytest.mark.slow, pytest.mark.behaviour("mcp.inspector")]

ASSISTANT = ("--tool-name", "assistant", "--tool-arg")
METHODS: dict[str, tuple[str, ...]] = {
    "initialize": (),
    "tools/list": (),
    "tools/call": (*ASSISTANT, "query=hello"),
    "resources/list": (),
    "resources/read": ("--uri", "test://static-text"),
    "resources/templates/list": (),
    "prompts/list": (),
    "prompts/get": ("--prompt-name", "test_prompt_with_arguments", "--prompt-args", "arg1=a", "arg2=b"),
    "logging/setLevel": ("--log-level", "info"),
}
SHOWN: dict[str, str] = {
    "initialize": '"serverInfo": {"name": "durable-agents"',
    "tools/list": '"name": "assistant"',
    "tools/call": '"structuredContent": {"response": "You said:',
    "resources/list": '"uri": "test://static-binary"',
    "resources/read": '"text": "This is the content of the static text resource."',
    "resources/templates/list": '"uriTemplate": "test://template/{id}/data"',
    "prompts/list": '"name": "test_prompt_with_arguments"',
    "prompts/get": "arg1='a', arg2='b'",
    "logging/setLevel": "{}",
}


def inspected(node_packages: NodePackages, url: str, method: str, *arguments: str) -> dict[str, Any]:
    ran = node_packages.inspect(url, "--method", method, *arguments)
    assert ran.returncode == 0, ran.stderr
    return dict(json.loads(ran.stdout)["result"])


async def test_each_method_of_the_inspector_is_tried_or_listed_with_its_reason(
    node_packages: NodePackages, template_url: str
) -> None:
    """Both ways; the Inspector itself names its methods when it is asked for one that it lacks."""
    refusal = node_packages.inspect(template_url, "--method", "nosuch").stderr

    _, _, names = json.loads(refusal)["error"]["message"].partition("methods: ")
    supported = names.removesuffix(".").split(", ")

    assert sorted(supported) == sorted([*METHODS, *not_applicable(HEADING)])


@pytest.mark.parametrize("method", METHODS)
async def test_the_inspector_gets_the_methods_result(
    node_packages: NodePackages, template_url: str, method: str
) -> None:
    result = inspected(node_packages, template_url, method, *METHODS[method])

    assert SHOWN[method] in json.dumps(result)


async def test_the_inspector_finds_the_agents_tool_portable(node_packages: NodePackages, template_url: str) -> None:
    """Its strict check of schemas ends with an error code when clients would stumble over one."""
    inspected(node_packages, template_url, "tools/list", "--strict")
