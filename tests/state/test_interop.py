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
    exchanges,
    message_count,
    response_of,
    response_text,
    session_state,
    with_log_mark,
    without_oldest,
)
from state.convert import agent_response
from state.extension import LogMark, host_of
from state.models import Conversation
from tests.support.dotnet_reader import faults
from tests.support.dotnet_writer import rewritten
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


def of_dotnet(run_id: str, text: str, answer: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the entries of a turn as .NET makes them."""
    request = {"$type": "request", "correlationId": run_id, "createdAt": NOON, "responseType": "text"}
    response = {"$type": "response", "correlationId": run_id, "createdAt": NOON, "usage": {"totalTokenCount": 5}}
    return (
        {**request, "messages": [{"role": "user", "contents": [{"$type": "text", "text": text}]}]},
        {**response, "messages": [{"role": "assistant", "contents": [{"$type": "text", "text": answer}]}]},
    )


def seen_by_dotnet(text: str) -> list[str]:
    """Return the texts that .NET replays: of all messages of all entries."""
    entries = json.loads(text)["data"]["conversationHistory"]
    contents = (content for entry in entries for message in entry["messages"] for content in message["contents"])
    return [content["text"] for content in contents if content["$type"] == "text"]


@pytest.mark.behaviour("state.interoperates")
@pytest.mark.behaviour("state.portable")
def test_a_thread_goes_from_us_to_dotnet_and_back_and_to_python_and_back() -> None:
    """Order, ids, the ledger, session state and what is archived are what they were."""
    ours = conversation_of(*((a_request(f"a{n}", f"old {n}"), a_response(f"a{n}", f"done {n}")) for n in range(3)))
    ours = without_oldest(ours, 2)
    session = {"notes": {"price": 1.1, "é": ["<b>"]}}
    call = Content.from_function_call("c1", "get_weather", arguments='{"city": "Par')
    ours = append_turn(
        ours,
        a_request("r1", "Grüße"),
        a_response("r1", call, RESULT, "It is <sunny> & 18.5 °C."),
        session=session,
    )
    text = write(with_log_mark(ours, LogMark(0, 9, 9)))

    by_dotnet = rewritten(text, *of_dotnet("n1", "from .NET", "to .NET"))
    assert seen_by_dotnet(by_dotnet)[-2:] == ["from .NET", "to .NET"]
    again = append_turn(read(by_dotnet), a_request("r2", "three"), a_response("r2", "four"))
    assert response_of(again, "r1") is not None
    assert agent_response(response_of(again, "r1")).messages[0].contents[0].arguments == '{"city": "Par'  # type: ignore[arg-type]

    state = theirs.DurableAgentState.from_json(write(again))
    their_turn(
        state, "p1", "from Python", AgentResponse(messages=[Message("assistant", ["to Python"])], created_at=NOON)
    )
    last = append_turn(read(json.dumps(state.to_dict())), a_request("r3", "five"), a_response("r3", "six"))

    assert faults(write(last)) == []
    assert [m.text for m in history_messages(last) if m.text][-8:] == [
        *("from .NET", "to .NET", "three", "four", "from Python", "to Python", "five", "six")
    ]
    runs = [entry.correlation_id for entry in exchanges(last)]
    assert runs == [run_id for run_id in ("a1", "a2", "r1", "n1", "r2", "p1", "r3") for _ in range(2)]
    assert applied_ids(last) == ["a0", "a1", "a2", "r1", "r2", "r3"]
    assert session_state(last) == session
    assert (host_of(last).archived, host_of(last).log_mark) == (host_of(ours).archived, LogMark(0, 9, 9))
    assert message_count(last) == 16


def applied_ids(conversation: Conversation) -> list[str]:
    """Return the ledger."""
    return list(json.loads(write(conversation))["data"]["extensionData"]["durableAgentHost"]["applied"])
