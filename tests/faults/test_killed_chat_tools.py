"""OpenAI's protocols under SIGKILL: an app killed around each record of a caller's calls, results and end.

The conversation is with the caller alone, so its thread is not stored, and waits for the results all the same.
"""

from __future__ import annotations

from typing import Any

import pytest

from hosting.client.connection import RemoteAgentError
from hosting.names import new_id
from hosting.testing.agent_app import AgentApp
from tests.support.kept_in import KINDS, over
from tests.support.marked_app import Notes, cuts_off, source_of

pytestmark = [
    pytest.mark.slow,
    pytest.mark.behaviour("chat.survives-kill"),
    pytest.mark.behaviour("responses.functions"),
]

SOURCE = source_of("clerk", "clerk", 'wires=["chat-completions", "responses"], client_tools=True, agents=[clerk(note)]')
SCHEMA = {"type": "object", "properties": {"n": {"type": "string"}}}
FUNCTION: dict[str, Any] = {"name": "where", "parameters": SCHEMA}
ASKED = {"role": "user", "content": "call where 1, where 2, look 3"}


def chat_to_the_end(app: AgentApp, key: str) -> str:
    """Ask, send the results of the calls, and return the text of the run that goes on.

    The thread has no name: the key finds the calls again, and their ids the run that goes on.
    """
    path, fields = "chat/v1/chat/completions", {"model": "Clerk", "tools": [{"type": "function", "function": FUNCTION}]}
    asked = app.send("POST", path, {**fields, "messages": [ASKED]}, key=key)
    message = asked["choices"][0]["message"]
    results = [{"role": "tool", "tool_call_id": call["id"], "content": "here"} for call in message["tool_calls"]]
    answer = app.send("POST", path, {**fields, "messages": [ASKED, message, *results]})
    return str(answer["choices"][0]["message"]["content"])


def response_to_the_end(app: AgentApp, key: str) -> str:
    """Do the same by Responses, whose items the caller sends back; a run that failed is a response of that status."""
    path = "openai/v1/responses"
    fields = {"model": "Clerk", "tools": [{"type": "function", **FUNCTION}], "store": False}
    items = app.send("POST", path, {**fields, "input": [ASKED]}, key=key)["output"]
    calls = [item["call_id"] for item in items if item["type"] == "function_call"]
    outputs = [{"type": "function_call_output", "call_id": call, "output": "here"} for call in calls]
    answer = app.send("POST", path, {**fields, "input": [ASKED, *items, *outputs]})
    if answer["status"] == "failed":
        raise RemoteAgentError("The response failed.", str(answer["error"]["code"]), 200)
    return str(answer["output"][-1]["content"][0]["text"])


WIRES = {"chat": chat_to_the_end, "responses": response_to_the_end}


def check_the_results(agent_app: AgentApp, notes: Notes, wire: str) -> None:
    """The caller repeats what got no answer, and the app's own tool runs once. The thread goes with the last answer."""
    answer = WIRES[wire](agent_app, new_id())
    agent_app.until("agents/Clerk/threads", lambda listed: listed["threads"] == [])

    assert (answer, notes.tools) == ("told: here | here | saw 3", ["look"])


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.killed_at("each step")
def test_a_host_killed_around_a_callers_tools_loses_neither_calls_nor_results(
    agent_app: AgentApp, notes: Notes, wire: str, request: pytest.FixtureRequest
) -> None:
    """A kill in the middle cuts the app's own tool off, which is not made again and ends the run."""
    if not cuts_off(request, "look"):
        check_the_results(agent_app, notes, wire)
        return
    with pytest.raises(RemoteAgentError):
        WIRES[wire](agent_app, new_id())

    assert notes.tools in ([], ["look"])


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.killed_at("after the decision was recorded")
@over("kept", *KINDS[1:])
def test_the_results_of_a_callers_tools_outlive_a_kill_over_each_store(
    agent_app: AgentApp, notes: Notes, wire: str
) -> None:
    """The first of them was recorded, and the caller sends both again."""
    check_the_results(agent_app, notes, wire)
