"""What a call's result holds: the whole response, from the agent's own object to the orchestration's."""

import json
from typing import Any

import pytest
from agent_framework import AgentResponse, Content, Message, UsageDetails

from hosting.core.entity.called_run import AgentCall, AgentRunError, ResultFormat, read_answer
from tests.support.bench import Bench

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


@pytest.mark.behaviour("orchestrations.response")
async def test_a_call_gives_the_whole_response_as_the_agent_gave_it() -> None:
    """Contents, names, usage, finish reason and properties; the ids are added."""
    bench = Bench()

    async def work(_: str) -> AgentResponse[Any]:
        return with_tools()

    bench.agent.work = work
    result = await bench.deliver({"message": "hi", "correlationId": "run-1"}, signal=False)
    given = read_answer(CALL, json.dumps(result)).to_dict()

    ids = {"run_id": "run-1", "thread_id": "t"}
    assert given == {**with_tools().to_dict(), "additional_properties": {"cost": 1, **ids}}


@pytest.mark.behaviour("orchestrations.message")
async def test_several_messages_of_one_call_are_one_request_of_the_conversation() -> None:
    """The agent is sent them in order; the next run sees them, and their entry holds each."""
    bench = Bench()
    output = [{"message": "one"}, {"message": "two", "contents": [{"$type": "text", "text": "three"}]}]
    await bench.deliver({"message": "four", "earlier": output, "correlationId": "run-1"}, signal=False)
    result = await bench.deliver({"message": "five", "correlationId": "run-2"}, signal=False)

    request = bench.entries()[0]
    texts = [[content["text"] for content in message["contents"]] for message in request["messages"]]
    assert texts == [["one"], ["two", "three"], ["four"]]
    assert bench.agent.seen == [["one", "two three", "four"], ["one", "two three", "four", "echo: four", "five"]]
    assert result["message_count"] == 6


@pytest.mark.behaviour("orchestrations.failed-run")
@pytest.mark.parametrize(
    "result",
    [
        None,
        {"status": "success"},
        "no json",
        "[]",
        '{"status": "success"}',
        '{"entry": {}}',
        '{"entry": {"$type": "x"}}',
    ],
)
def test_a_result_that_is_no_run_s_end_is_told_as_refused(result: Any) -> None:
    with pytest.raises(AgentRunError) as failed:
        read_answer(CALL, result)

    assert failed.value.code == "refused"
