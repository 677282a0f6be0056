"""A named tool of the caller under SIGKILL: its app killed around each record, and another process that goes on."""

from __future__ import annotations

from typing import Any

import pytest

from hosting.names import new_id
from hosting.testing.agent_app import AgentApp
from tests.support.kept_in import KINDS, over
from tests.support.marked_app import source_of

pytestmark = [pytest.mark.slow, pytest.mark.behaviour("options.survives-kill")]

SOURCE = source_of("obedient", "obedient", 'wires=["responses"], client_tools=True', "app.add_agent(obedient())\n")
WHEN: dict[str, Any] = {"type": "function", "name": "when", "parameters": {"type": "object"}}
CONVERSATION: list[Any] = [
    {"role": "user", "content": "hi"},
    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Hello."}]},
    {"role": "user", "content": '{"n": "1"}'},
]


def respond(app: AgentApp, key: str, sent: list[Any]) -> Any:
    """Return a response to items, with the choice of the tool, under a key by which it is found again."""
    body = {"input": sent, "tools": [WHEN], "tool_choice": {"type": "function", "name": "when"}}
    return app.send("POST", "openai/v1/responses", body, key=key)


def check_the_call(agent_app: AgentApp) -> None:
    """The tool is called once, in a thread with the conversation that was sent; its output goes on without the choice.

    The request sent again is answered the same.
    """
    key = new_id()
    first, again = (respond(agent_app, key, CONVERSATION) for _ in range(2))
    (call,) = first["output"]
    output = {"type": "function_call_output", "call_id": call["call_id"], "output": "noon"}
    last = respond(agent_app, f"{key}-2", [*CONVERSATION, call, output])
    items = agent_app.read(f"openai/v1/responses/{first['id']}/input_items")["data"]

    assert (call["name"], call["arguments"], again) == ("when", '{"n": "1"}', first)
    assert last["output"][-1]["content"][0]["text"] == "{}"
    assert [item["role"] for item in items] == ["user", "assistant", "user"]


@pytest.mark.killed_at("each step")
def test_the_process_that_takes_over_a_run_calls_the_named_tool_of_the_caller(agent_app: AgentApp) -> None:
    """Around each record of the two runs."""
    check_the_call(agent_app)


@pytest.mark.killed_at("after the request was recorded")
@over("kept", *KINDS[1:])
def test_the_named_tool_is_called_over_each_store(agent_app: AgentApp) -> None:
    """The process that takes over is the only one that runs the agent."""
    check_the_call(agent_app)
