"""What we use of agent-framework that it does not promise: each fails by its name when a new version moves it."""

from __future__ import annotations

import pytest
from agent_framework import Agent, FunctionTool, Message, WorkflowCheckpoint, WorkflowEvent

from hosting.core.agent.framework import agents_within, is_destructive, is_idempotent, refuses_arguments
from hosting.core.agent.framework_graphs import checkpoint_text, read_checkpoint
from hosting.tools import destructive, idempotent
from tests.support.answering import AnsweringClient


def halve(number: int) -> float:
    """Halve a number."""
    raise TypeError("of the tool")


@pytest.mark.parametrize(("number", "is_refused"), [("many", True), (2, False)])
async def test_the_framework_refuses_a_tools_arguments_by_an_error_of_its_own(number: object, is_refused: bool) -> None:
    """Before the tool's code begins: such a call did nothing. A tool's own error is none of that kind."""
    with pytest.raises(TypeError) as raised:
        await FunctionTool(name="halve", description="Halve a number.", func=halve).invoke(arguments={"number": number})

    assert refuses_arguments(raised.value) is is_refused


def test_the_agents_that_are_tools_are_found_once_each_and_what_tools_are_declared_as() -> None:
    inner = Agent(AnsweringClient(), name="Inner")
    tools = [inner.as_tool(name=name) for name in ("one", "two")]
    outer = Agent(AnsweringClient(), name="Outer", tools=[*tools, halve])

    assert agents_within(outer) == [outer, inner]
    assert [(is_idempotent(tool), is_destructive(tool)) for tool in (halve, idempotent(look), destructive(drop))] == [
        (False, False),
        (True, False),
        (False, True),
    ]


def look() -> str:
    """Look."""
    return "seen"


def drop() -> str:
    """Drop it."""
    return "dropped"


def test_a_checkpoint_has_the_type_of_an_answer_that_is_asked_for() -> None:
    """Also where it is that of a list, as a hand-over asks for."""
    asked = WorkflowEvent.request_info("1", "desk", "Which city?", list[Message])
    checkpoint = WorkflowCheckpoint("Handoff", "graph", pending_request_info_events={"1": asked})

    read = read_checkpoint(checkpoint_text(checkpoint, frozenset()), frozenset())

    assert read.pending_request_info_events["1"].response_type == list[Message]
