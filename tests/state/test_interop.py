"""The other packages that keep durable agents, on the same documents: Python's, and .NET's by its rules."""

from __future__ import annotations

import json
from typing import Any

import pytest
from agent_framework import AgentResponse, Content, Message
from jsonschema import Draft202012Validator

from state.codec import read, write
from state.conversation import (
    append_turn,
    message_count,
    response_of,
    response_text,
)
from state.convert import agent_response
from tests.support.state_documents import (
    NOON,
    PUBLIC_SCHEMA,
    a_request,
    a_response,
    conversation_of,
    failure_entry,
    history_messages,
)

theirs: Any = pytest.importorskip(
    "agent_framework_durabletask._durable_agent_state", reason="agent-framework-durabletask is not installed here"
)
models: Any = pytest.importorskip("agent_framework_durabletask._models")

CALL = Content.from_function_call("c1", "get_weather", arguments='{"city":"Paris"}')
RESULT = Content.from_function_result("c1", result="sunny")


def their_turn(state: Any, run_id: str, text: str, response: AgentResponse[Any]) -> None:
    request = models.RunRequest(message=text, correlation_id=run_id)
    state.data.conversation_history.append(theirs.DurableAgentStateRequest.from_run_request(request))
    state.data.conversation_history.append(theirs.DurableAgentStateResponse.from_run_response(run_id, response))


@pytest.mark.behaviour("state.interoperates")
def test_they_read_what_we_write() -> None:
    """Every message, the answer by its run, and our part of the extension data."""
    ours = conversation_of(
        (
            a_request("r1", "Weather in Paris?"),
            a_response("r1", CALL, RESULT, "It is sunny.", usage_details={"output_token_count": 3}),
        ),
        (
            a_request("r2"),
            failure_entry(run_id="r2", created_at=NOON, status="failed", code="run_failed", message="No."),
        ),
    )

    state = theirs.DurableAgentState.from_json(write(ours))

    assert (state.schema_version, state.message_count) == ("1.1.0", 4)
    assert state.try_get_agent_response("r1").text == "It is sunny."
    assert [m.to_chat_message().text for m in state.data.conversation_history[0].messages] == ["Weather in Paris?"]
    assert state.to_dict()["data"]["extensionData"] == {"durableAgentHost": {"applied": ["r1", "r2"]}}


@pytest.mark.behaviour("state.interoperates")
def test_we_read_what_they_write() -> None:
    """Calls, results, usage and what they know about it; and write it back as it was."""
    state = theirs.DurableAgentState()
    messages = [Message("assistant", [CALL]), Message("tool", [RESULT]), Message("assistant", ["It is sunny."])]
    usage = {"input_token_count": 7, "cache_read_input_token_count": 2}
    their_turn(state, "r1", "Weather?", AgentResponse(messages=messages, created_at=NOON, usage_details=usage))  # type: ignore[arg-type]
    text = json.dumps(state.to_dict())

    conversation = read(text)
    entry = response_of(conversation, "r1")

    assert json.loads(write(conversation)) == json.loads(text)
    assert [m.text for m in history_messages(conversation)] == ["Weather?", "", "", "It is sunny."]
    assert entry is not None
    assert response_text(entry) == "It is sunny."
    assert agent_response(entry).usage_details == usage
    assert agent_response(entry).messages[0].contents[0].parse_arguments() == {"city": "Paris"}


@pytest.mark.behaviour("state.interoperates")
@pytest.mark.behaviour("state.authors-valid-documents")
def test_their_conversation_goes_on_with_us_and_back_with_them() -> None:
    """An entity is taken over in mid-conversation, and handed back; their failed run is not replayed."""
    state = theirs.DurableAgentState()
    their_turn(state, "r1", "one", AgentResponse(messages=[Message("assistant", ["two"])], created_at=NOON))
    error = Message("assistant", [Content.from_error(message="no model", error_code="ValueError")])
    their_turn(state, "r2", "lost", AgentResponse(messages=[error], created_at=NOON))

    ours = append_turn(read(json.dumps(state.to_dict())), a_request("r3", "three"), a_response("r3", "four"))
    back = theirs.DurableAgentState.from_json(write(ours))

    assert [m.text for m in history_messages(ours)] == ["one", "two", "three", "four"]
    assert (message_count(ours), back.message_count) == (6, 6)
    assert back.try_get_agent_response("r3").text == "four"
    Draft202012Validator(PUBLIC_SCHEMA["$defs"]["conversationEntry"] | {"$defs": PUBLIC_SCHEMA["$defs"]}).validate(
        json.loads(write(ours))["data"]["conversationHistory"][-1]
    )
