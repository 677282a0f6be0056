"""What we use of agent-framework that it does not promise: each fails by its name when a new version moves it."""

from __future__ import annotations

import pytest
from agent_framework import (
    FunctionTool,
    MCPStreamableHTTPTool,
    Message,
    WorkflowCheckpoint,
    WorkflowEvent,
)

from hosting.core.agent.framework import refuses_arguments, server_of_tool
from hosting.core.agent.framework_graphs import checkpoint_text, read_checkpoint
from tests.support.tool_server import ToolServer


async def test_the_framework_keeps_an_mcp_server_in_the_closures_of_its_tools_functions() -> None:
    """It is sent the key of each call."""
    with ToolServer() as running:
        async with MCPStreamableHTTPTool("cities", running.url) as server:
            assert [server_of_tool(tool) for tool in server.functions] == [server] * len(server.functions)
            assert server.functions


async def test_the_framework_refuses_a_tools_arguments_by_an_error_of_its_own() -> None:
    """Before the tool's code begins: such a call did nothing. A tool's own error is none of that kind."""

    def halve(number: int) -> float:
        raise TypeError("of the tool")

    tool = FunctionTool(name="halve", description="Halve a number.", func=halve)
    refused: list[bool] = []
    for arguments in ({"number": "many"}, {"number": 2}):
        with pytest.raises(TypeError) as raised:
            await tool.invoke(arguments=arguments)
        refused.append(refuses_arguments(raised.value))

    assert refused == [True, False]


def test_a_checkpoint_has_the_type_of_an_answer_that_is_asked_for() -> None:
    """Also where it is that of a list, as a hand-over asks for."""
    asked = WorkflowEvent.request_info("1", "desk", "Which city?", list[Message])
    checkpoint = WorkflowCheckpoint("Handoff", "graph", pending_request_info_events={"1": asked})

    read = read_checkpoint(checkpoint_text(checkpoint, frozenset()), frozenset())

    assert read.pending_request_info_events["1"].response_type == list[Message]
