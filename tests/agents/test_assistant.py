"""The agent `assistant` on the offline model, through the framework's own agent loop."""

import pytest
from agent_framework import AgentResponse, AgentSession, Content, Message

from agents.assistant import create_assistant
from hosting.offline.model import OfflineChatClient


@pytest.mark.behaviour("template.offline-uses-the-tool")
async def test_a_weather_question_calls_the_tool_and_answers_from_its_result() -> None:
    """The answer is the tool's, and the call stands in the conversation."""
    response = await ask("What is the weather in Paris?")

    assert response.text == "The weather in Paris: partly cloudy, 18 °C."
    assert [call.parse_arguments() for call in of_type(response, "function_call")] == [{"city": "Paris"}]


async def test_any_tool_is_called_with_the_arguments_that_it_is_told() -> None:
    """So that a tool of one's own is tried without a model; the tool's result is told."""
    response = await ask('Call get_weather with {"city": "Rome"}')
    unknown, unreadable = await ask("Call fly with {}"), await ask("Call get_weather with {city}")

    assert response.text == "The weather in Rome: sunny, 26 °C."
    assert unknown.text == "I would ask the tool fly, but it is not offered to me in this turn."
    assert unreadable.text == "These arguments are not a JSON object."


async def test_a_tool_that_is_not_offered_is_not_called() -> None:
    """tool_choice none leaves the model without tools, and it says so."""
    response = await create_assistant(OfflineChatClient()).run(
        "What is the weather in Paris?", options={"tool_choice": "none"}
    )

    assert response.text == "I would ask the tool get_weather, but it is not offered to me in this turn."


@pytest.mark.behaviour("template.offline-remembers-by-the-conversation")
@pytest.mark.parametrize(
    ("question", "answer", "unknown"),
    [
        ("What is my name?", "Your name is Ada.", "You have not told me your name in this conversation."),
        (
            "Which city did I ask about?",
            "You asked about Rome.",
            "You have not asked about a city in this conversation.",
        ),
        (
            "What did I ask before?",
            'Before that, you said: "And in Rome?".',
            "You have not asked anything before in this conversation.",
        ),
    ],
)
async def test_a_question_about_earlier_turns_is_answered_from_them(question: str, answer: str, unknown: str) -> None:
    """One thread, three turns, then a question that only they can answer, and no other conversation."""
    agent, session = create_assistant(OfflineChatClient()), AgentSession()
    for said in ("My name is Ada.", "What is the weather in Paris?", "And in Rome?"):
        await agent.run(said, session=session)

    assert (await agent.run(question, session=session)).text == answer
    assert (await agent.run(question, session=AgentSession())).text == unknown


@pytest.mark.behaviour("template.offline-is-deterministic")
@pytest.mark.parametrize("question", ["hello", "What is the weather in Oslo?"])
async def test_the_streamed_answer_is_the_whole_answer(question: str) -> None:
    agent = create_assistant(OfflineChatClient())
    whole = await agent.run(question)
    streamed = await agent.run(question, stream=True).get_final_response()

    assert (streamed.text, streamed.usage_details) == (whole.text, whole.usage_details)


async def test_a_tool_that_fails_is_told_as_a_failure() -> None:
    call = Content.from_function_call("1", "get_weather", arguments={"city": "Paris"})
    failure = Content.from_function_result("1", result="no such city", exception="KeyError")
    messages = [Message(role="assistant", contents=[call]), Message(role="tool", contents=[failure])]

    assert (await OfflineChatClient().get_response(messages)).text == "The tool failed: no such city"


async def ask(*questions: str) -> AgentResponse:
    """The last answer of one conversation that asks `questions` in turn."""
    agent = create_assistant(OfflineChatClient())
    session = AgentSession()
    return [await agent.run(question, session=session) for question in questions][-1]


def of_type(response: AgentResponse, kind: str) -> list[Content]:
    return [content for message in response.messages for content in message.contents if content.type == kind]
