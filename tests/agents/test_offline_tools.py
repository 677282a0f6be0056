"""A tool of one's own and the offline model: asked in plain words, it says how to have the tool called."""

from typing import Annotated, Any, Literal

import pytest
from agent_framework import Agent, tool

from agents.offline import OfflineChatClient
from agents.tools import get_weather
from tests.support.event_stream import Frame, parse, words
from tests.support.made_app import app_of, ask, served


@tool
def add_numbers(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@tool
def find_order(number: Annotated[str, "Such as A-17"], state: Literal["open", "sent"] = "open") -> str:
    """Look up an order by its number."""
    return f"{number}: {state}"


@tool
def set_light(room: str, color: Literal["red", "green"], level: float, blinks: bool) -> str:
    """Switch a lamp."""
    return "on"


@pytest.mark.behaviour("template.offline-says-how-to-call")
@pytest.mark.parametrize(
    ("question", "call"),
    [
        ("Add 2 and 40", 'Call add_numbers with {"a": 2, "b": 40}'),
        ("Please add 1.5, then more", 'Call add_numbers with {"a": 1, "b": 0}'),
        ("Where is order A-17?", 'Call find_order with {"number": "A-17"}'),
        ('Look up the orders of "Ada & Co"', 'Call find_order with {"number": "Ada & Co"}'),
        (
            "Switch the lamps in Berlin to green, by 70",
            'Call set_light with {"room": "Berlin", "color": "green", "level": 70, "blinks": true}',
        ),
        ("What is this for?", 'Call add_numbers with {"a": 0, "b": 0}'),
    ],
)
async def test_a_question_for_a_tool_is_answered_with_the_call_that_does_it(question: str, call: str) -> None:
    """A line of the answer, to be sent as it is, before who answers; for a question about nothing, the first tool's."""
    async with served(app_of(joker(get_weather, add_numbers, find_order, set_light))) as (_, http):
        first, proposed, introduction = (await ask(http, question)).json()["response"].split("\n\n")
        tried = (await ask(http, proposed)).json()["response"]

    assert proposed == call
    assert first.startswith("You said: ")
    assert first.endswith("called, send me this:")
    assert introduction.startswith("I am the offline model")
    assert tried.startswith("The tool says: ")


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
