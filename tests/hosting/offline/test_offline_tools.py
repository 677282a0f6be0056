"""A tool of one's own and the offline model: plain words call the tool, or get the call to send."""

from typing import Annotated, Any, Literal

import pytest
from agent_framework import Agent, tool

from agents.assistant import get_weather
from hosting.offline.model import OfflineChatClient
from tests.support.event_stream import Frame, parse, words
from tests.support.made_app import app_of, ask, served


@tool
def add_numbers(a: int, b: int) -> int:
    return a + b


@tool
def find_order(number: Annotated[str, "Such as A-17"], state: Literal["open", "sent"] = "open") -> str:
    return f"{number}: {state}"


@tool
def set_light(room: str, color: Literal["red", "green"], level: float) -> str:
    return f"{room} is {color} at {level:g}"


@tool
def print_journal() -> str:
    return "an empty one"


@tool
def close_shop() -> str:
    raise ValueError("it is night")


@tool(approval_mode="always_require")
def delete_order(number: str) -> str:
    return f"{number} is gone"


@pytest.mark.behaviour("template.offline-calls-by-rules")
@pytest.mark.parametrize(
    ("question", "name", "result"),
    [
        ("Add 2 and 40", "add_numbers", "42"),
        ("Where is order A-17?", "find_order", "A-17: open"),
        ("Where is my Order, A-17?", "find_order", "A-17: open"),
        ("Have I got order A-17?", "find_order", "A-17: open"),
        ('Look up the orders of "Ada & Co"', "find_order", "Ada & Co: open"),
        ("Switch the lamps in Berlin to green, by 70", "set_light", "Berlin is green at 70"),
        ("Print the journal", "print_journal", "an empty one"),
    ],
)
async def test_plain_words_for_a_tool_call_it_and_the_answer_says_that_rules_chose_it(
    question: str, name: str, result: str
) -> None:
    """The values of its arguments are those of the words, so the result is of what was asked."""
    async with served(app_of(joker(get_weather, add_numbers, find_order, set_light, print_journal))) as (
        _,
        http,
    ):
        answer = (await ask(http, question)).json()["response"]

    assert answer == f"I answer by rules, and your words fit the tool {name}. It says: {result}"


@pytest.mark.behaviour("template.offline-says-how-to-call")
@pytest.mark.parametrize(
    ("question", "call"),
    [
        ("Please add 1.5, then 2", 'Call add_numbers with {"a": 1, "b": 2}'),
        ("Add 2", 'Call add_numbers with {"a": 2, "b": 0}'),
        ("Where is my order?", 'Call find_order with {"number": "..."}'),
        ("Which order may I see?", 'Call find_order with {"number": "..."}'),
        ("Switch the lamp in Berlin, by 70", 'Call set_light with {"room": "Berlin", "color": "red", "level": 70}'),
        ("Look up two numbers, 1 and 2", 'Call add_numbers with {"a": 1, "b": 2}'),
        ("What is this for?", 'Call add_numbers with {"a": 0, "b": 0}'),
    ],
)
async def test_words_that_lack_a_value_or_fit_no_one_tool_best_are_answered_with_the_call_to_send(
    question: str, call: str
) -> None:
    """A line of the answer, to be sent as it is or corrected: no tool gets values that nobody named."""
    async with served(app_of(joker(get_weather, add_numbers, find_order, set_light))) as (_, http):
        first, proposed, introduction = (await ask(http, question)).json()["response"].split("\n\n")
        tried = (await ask(http, proposed)).json()["response"]

    assert proposed == call
    assert first.startswith("You said: ")
    assert first.endswith("called, send me this:")
    assert introduction.startswith("I am the offline model")
    assert tried.startswith("The tool says: ")


@pytest.mark.behaviour("template.offline-says-how-to-call")
@pytest.mark.parametrize("question", ["Hello", "What can you do?", "Tell me about your day", "..."])
async def test_words_that_fit_no_tool_call_none(question: str) -> None:
    """Not even the only one, which needs no value."""
    async with served(app_of(joker(print_journal))) as (_, http):
        answer = (await ask(http, question)).json()["response"]

    assert "Call print_journal with {}" in answer.splitlines()
    assert "an empty one" not in answer


@pytest.mark.behaviour("template.offline-calls-by-rules")
async def test_a_tool_that_fails_and_one_that_waits_for_a_person_are_chosen_by_rules_too() -> None:
    """The answer says so of a failure; a call that needs approval waits, and acts when it is approved."""
    async with served(app_of(joker(close_shop, delete_order))) as (_, http):
        failed = (await ask(http, "Close the shop")).json()["response"]
        waiting = (await ask(http, "Delete order A-17")).json()
        (call,) = waiting["pending_approvals"]
        address = f"/api/agents/Joker/threads/{waiting['thread_id']}/approvals/{call['id']}"
        answered = await http.post(address, json={"approved": True})

    assert failed.startswith("I answer by rules, and your words fit the tool close_shop. The tool failed: ")
    assert call["arguments"] == {"number": "A-17"}
    assert answered.json()["response"] == (
        "I answer by rules, and your words fit the tool delete_order. It says: A-17 is gone"
    )


async def test_an_agent_without_the_weather_tool_is_not_asked_for_the_weather() -> None:
    """What an introduction proposes must work."""
    async with served(app_of(joker(add_numbers))) as (_, http):
        weather = (await ask(http, "What is the temperature in Paris?")).json()["response"]
    async with served(app_of(joker())) as (_, http):
        alone = (await ask(http, "Tell me a joke")).json()["response"]

    assert 'Call add_numbers with {"a": 0, "b": 0}' in weather.splitlines()
    assert "weather" not in alone


@pytest.mark.behaviour("template.offline-streams-words")
async def test_a_streamed_answer_comes_word_by_word() -> None:
    """Over a time in which a person sees it grow, longer than the log waits for more: it is there in pieces."""
    seen = await deltas_of(OfflineChatClient())

    assert words(seen) == "The weather in Rome: sunny, 26 °C."
    assert len(pieces_in_the_log(seen)) > 1


def pieces_in_the_log(deltas: list[Frame]) -> set[str]:
    """A delta's id is the place in the log that it comes behind, and a number."""
    return {str(frame.id).partition(".")[0] for frame in deltas}


async def deltas_of(client: OfflineChatClient) -> list[Frame]:
    async with served(app_of(Agent(client=client, name="Joker", tools=[get_weather]))) as (_, http):
        response = await http.post("/api/agents/Joker/run", json={"message": "Weather in Rome?", "stream": True})
    return [frame for frame in parse(response.text) if frame.event == "delta"]


def joker(*tools: Any) -> Agent:
    """An agent with these tools on the offline model."""
    return Agent(client=OfflineChatClient(), name="Joker", tools=list(tools))
