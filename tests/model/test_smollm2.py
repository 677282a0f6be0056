"""The assistant on a real model, through the settings that a user sets. The model is small: it is asked for little."""

from collections.abc import AsyncIterator

import pytest
from agent_framework import Agent, AgentResponse, AgentSession

from agents.assistant import create_assistant
from agents.models import create_chat_client

pytestmark = pytest.mark.model

PLAIN = {"temperature": 0.0, "max_tokens": 60}
FORCED = {**PLAIN, "tool_choice": {"mode": "required", "required_function_name": "get_weather"}}


@pytest.fixture
async def assistant(model_url: str) -> AsyncIterator[Agent]:
    """The agent as the app makes it; the server wants no key."""
    async with create_assistant(create_chat_client({"OPENAI_BASE_URL": model_url, "OPENAI_MODEL": "smollm2"})) as agent:
        yield agent


async def test_a_conversation_of_two_turns_reaches_the_model_whole(assistant: Agent) -> None:
    """Both turns are answered in words with a tool in reach, and the second call carries the first."""
    session = AgentSession()
    first = await say(assistant, session, "My name is Ada. Please say hello to me.")
    second = await say(assistant, session, "What is my name?")

    assert first.text.strip()
    assert second.text.strip()
    assert input_tokens(second) > input_tokens(first)


async def test_a_tool_call_of_the_model_is_run_and_its_result_is_sent_back(assistant: Agent) -> None:
    """The model is made to call the tool and fills in the city by itself."""
    response = await say(assistant, AgentSession(), "What is the weather in Paris?", FORCED)
    contents = [content for message in response.messages for content in message.contents]
    calls = [content.parse_arguments() for content in contents if content.type == "function_call"]
    results = [content.result for content in contents if content.type == "function_result"]

    assert calls == [{"city": "Paris"}]
    assert results == ["partly cloudy, 18 °C"]


async def test_the_answer_is_streamed_as_the_model_makes_it(assistant: Agent) -> None:
    """More than one piece, and together they are the answer."""
    stream = assistant.run("Say hello.", stream=True, options=PLAIN)
    pieces = [update.text async for update in stream if update.text]

    assert len(pieces) > 1
    assert "".join(pieces) == (await stream.get_final_response()).text


async def say(
    agent: Agent, session: AgentSession, text: str, options: dict[str, object] | None = None
) -> AgentResponse:
    """The agent's answer; both sides are printed for whoever reads the run (pytest -s)."""
    response = await agent.run(text, session=session, options=options or PLAIN)
    print(f"user       {text}")
    for message in response.messages:
        for content in message.contents:
            print(f"{message.role:10} {content.text or content.arguments or content.result}")
    print(f"           {response.usage_details}")
    return response


def input_tokens(response: AgentResponse) -> int:
    return (response.usage_details or {}).get("input_token_count") or 0
