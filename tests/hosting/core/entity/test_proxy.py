"""The proxy itself: what a call sends, what it refuses, how an answer is read. No host."""

from __future__ import annotations

import json
from typing import Any

import pytest
from agent_framework import (
    AgentResponse,
    AgentSession,
    Content,
    Message,
    UsageDetails,
)
from pydantic import BaseModel, field_validator

from hosting.core.entity.called_run import AgentCall, AgentRunError, ResultFormat, read_answer
from hosting.core.entity.proxy import DurableAgentSession
from hosting.core.request.contents import limits_of
from hosting.core.request.fields import carried_request
from hosting.core.thread.messages import request_messages
from hosting.errors import HostingError
from hosting.settings import read_settings
from tests.support.cluster.cluster import Cluster, EchoAgent
from tests.support.noted import noting_agent

LIMITS = limits_of(None, read_settings({"AGENT_CALLER_ROLES": "user, system"}))
PICTURE = Content.from_data(b"dots", "image/png")


class City(BaseModel):
    """A format with a rule that no schema says."""

    name: str

    @field_validator("name")
    @classmethod
    def _is_upper(cls, name: str) -> str:
        if not name.isupper():
            raise ValueError("not in capitals")
        return name


class Callback(BaseModel):
    """A format whose schema is no JSON."""

    @classmethod
    def model_json_schema(cls, *arguments: Any, **options: Any) -> dict[str, Any]:
        return {"default": {1, 2}}


@pytest.mark.behaviour("orchestrations.message")
@pytest.mark.parametrize(
    ("given", "messages"),
    [
        ("hi", [Message("user", ["hi"])]),
        (PICTURE, [Message("user", [PICTURE])]),
        (["see", PICTURE], [Message("user", ["see", PICTURE])]),
        (Message("system", ["be kind"]), [Message("system", ["be kind"])]),
        ([Message("user", [PICTURE, "what is it?"])], [Message("user", [PICTURE, "what is it?"])]),
        (
            ["a", Message("system", [PICTURE]), "b", PICTURE],
            [Message("user", ["a"]), Message("system", [PICTURE]), Message("user", ["b", PICTURE])],
        ),
    ],
)
def test_the_entity_reads_the_messages_that_were_given(given: Any, messages: list[Message]) -> None:
    """There and back: their order, roles, kinds and order of contents."""
    agent, _ = noting_agent()

    read = request_messages(carried_request(agent.run(given).fields, LIMITS))

    assert [message.to_dict() for message in read] == [message.to_dict() for message in messages]


@pytest.mark.behaviour("orchestrations.message")
@pytest.mark.parametrize(
    ("earlier", "says"),
    [
        ("hi", "The field 'earlier' is not an array of objects."),
        ([{"message": "a"}] * 101, "The field 'earlier' has 101 messages; the limit is 100."),
        ([{"role": "user"}], "There is no message."),
        ([{"message": "a", "role": "assistant"}], "The role 'assistant' is not allowed here."),
        ([{"contents": [{"$type": "data"}]}], "The field 'contents' is not valid: contents[0].uri"),
    ],
)
def test_earlier_messages_are_checked_as_the_last_one_is(earlier: Any, says: str) -> None:
    with pytest.raises(HostingError) as refused:
        carried_request({"message": "b", "earlier": earlier}, LIMITS)

    assert says in refused.value.detail


@pytest.mark.behaviour("orchestrations.refused-at-the-call")
@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"session": DurableAgentSession("critic", "t")}, "The session belongs to agent 'critic' and cannot be used"),
        ({"session": AgentSession()}, "session is a AgentSession. Use this agent's create_session()"),
        ({"response_format": int}, "response_format is <class 'int'>. Give a pydantic model class"),
        ({"response_format": Callback}, "response_format cannot be sent as JSON"),
        ({"response_format": {"type": "nothing"}}, "The schema in 'response_format'"),
        ({"response_format": City, "options": {"response_format": int}}, "response_format stands in options too"),
        ({"context": {"a": object()}}, "context"),
        ({"metadata": {"a": []}}, "metadata"),
        ({"retry": 3}, "retry is a int. Give a hosting.options.Retry."),
        ({"busy": "interrupt"}, "busy is 'interrupt'. In an orchestration calls always wait"),
        ({"options": ["seed"]}, "options is a list. Give a dict of options."),
        (
            {"options": {"logit_bias": {}}},
            "The option 'logit_bias' is not served. Known: response_format, enable_tool_c",
        ),
        (
            {"options": {"tool_choice": {"mode": "auto"}}},
            "The option 'tool_choice' is {'mode': 'auto'}. Give a number or",
        ),
        ({"options": {"wait_for_response": False}}, "wait_for_response must be true"),
        ({"messages": " "}, "The message is blank."),
        ({"messages": ["a", 3]}, "A message is a int. Give a text, a Content or a Message."),
        ({"messages": Message("user", ["a"], author_name="Ada")}, "The message has the author 'Ada'"),
        ({"messages": Content.from_function_call("1", "f")}, "contents[0].$type is 'functionCall'"),
    ],
)
def test_a_wrong_call_is_refused_and_nothing_is_sent(given: dict[str, Any], says: str) -> None:
    """At the call, not at the yield, and by a sentence."""
    agent, orchestration = noting_agent()

    with pytest.raises(HostingError) as refused:
        agent.run(**{"messages": "hi", **given})

    assert says in refused.value.detail
    assert orchestration.calls == []


@pytest.mark.behaviour("orchestrations.structured")
def test_a_model_is_sent_as_its_schema_and_its_instance_comes_back() -> None:
    """Whether it is given by its own name or among the options."""
    agent, _ = noting_agent()
    noted = agent.run("hi", options={"response_format": City, "enable_tool_calls": False})

    assert (noted.fields["response_format"], noted.fields["enable_tool_calls"]) == (City.model_json_schema(), False)
    assert noted.answered('{"name": "OSLO"}', {"name": "OSLO"}).value == City(name="OSLO")


@pytest.mark.behaviour("orchestrations.structured")
def test_a_value_that_the_model_refuses_is_a_failed_run() -> None:
    agent, _ = noting_agent()
    noted = agent.run("hi", response_format=City)

    with pytest.raises(AgentRunError) as failed:
        noted.answered('{"name": "oslo"}', {"name": "oslo"})

    assert failed.value.code == "invalid_output"
    assert failed.value.detail == "The answer fits the schema and not City: name."


CALL = AgentCall("Joker", "t", "run-1", ResultFormat())


def with_tools() -> AgentResponse[Any]:
    """A response of several messages and kinds of contents."""
    asks = Content.from_function_call("c-1", "look", arguments={"city": "Paris"})
    looked = Content.from_function_result("c-1", result="sunny")
    return AgentResponse(
        messages=[
            Message("assistant", [Content.from_text_reasoning(text="look first"), asks]),
            Message("tool", [looked]),
            Message("assistant", ["It is sunny."], author_name="Joker", message_id="m-1"),
        ],
        response_id="r-1",
        created_at="2026-01-01T00:00:00Z",
        finish_reason="stop",
        usage_details=UsageDetails(input_token_count=3, output_token_count=4, total_token_count=7),
        additional_properties={"cost": 1},
    )


class Looking(EchoAgent):
    """Answers with tools."""

    async def _answer(self, texts: list[str]) -> AgentResponse[Any]:
        return with_tools()


@pytest.mark.moved_time
@pytest.mark.behaviour("orchestrations.response")
async def test_a_call_gives_the_whole_response_as_the_agent_gave_it() -> None:
    """Contents, names, usage, finish reason and properties; the ids are added."""
    called = {"message": "hi", "correlationId": "run-1"}
    result = await Cluster(Looking).process().operate(called, thread_id="t", is_signal=False)
    given = read_answer(CALL, json.dumps(result)).to_dict()

    ids = {"run_id": "run-1", "thread_id": "t"}
    assert given == {**with_tools().to_dict(), "additional_properties": {"cost": 1, **ids}}


@pytest.mark.moved_time
@pytest.mark.behaviour("orchestrations.message")
async def test_several_messages_of_one_call_are_one_request_of_the_conversation(cluster: Cluster) -> None:
    """The agent is sent them in order; the next run sees them, and their entry holds each."""
    app = cluster.process()
    earlier = [{"message": "one"}, {"message": "two", "contents": [{"$type": "text", "text": "three"}]}]
    await app.operate({"message": "four", "earlier": earlier, "correlationId": "run-1"}, is_signal=False)
    result = await app.operate({"message": "five", "correlationId": "run-2"}, is_signal=False)

    texts = [[content["text"] for content in message["contents"]] for message in app.entries()[0]["messages"]]
    assert texts == [["one"], ["two", "three"], ["four"]]
    assert app.agent.turns == [["one", "two three", "four"], ["one", "two three", "four", "echo: four", "five"]]
    assert result["message_count"] == 6


@pytest.mark.behaviour("orchestrations.failed-run")
@pytest.mark.parametrize("result", [None, {"status": "success"}, "no json", "[]", '{"entry": {"$type": "x"}}'])
def test_a_result_that_is_no_run_s_end_is_told_as_refused(result: Any) -> None:
    with pytest.raises(AgentRunError) as failed:
        read_answer(CALL, result)

    assert failed.value.code == "refused"


CONTEXT = {"tenant": "a"}


@pytest.mark.behaviour("context.carried")
def test_an_orchestration_carries_context_and_metadata_in_its_call() -> None:
    agent, _ = noting_agent()
    given: dict[str, Any] = {
        "context": CONTEXT,
        "metadata": {"ticket": 7},
        "thread_metadata": {"team": "red", "old": None},
    }

    request = carried_request(agent.run("hello", **given).fields, LIMITS)

    assert {name: getattr(request, name) for name in given} == given
    assert not agent.run("hello").fields.keys() & given.keys()
