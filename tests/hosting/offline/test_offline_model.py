"""The offline model: plain words call a tool or get the call to send, and a wanted format is met."""

from __future__ import annotations

import asyncio
import json
from typing import Annotated, Any, Literal

import pytest
from agent_framework import Agent, tool
from jsonschema import Draft202012Validator
from pydantic import BaseModel

from agents.assistant import get_weather
from hosting.offline.model import OfflineChatClient
from hosting.offline.values import in_format
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
def set_light(room: str, color: Literal["red", "green"], level: float) -> str:
    """Switch a lamp."""
    return f"{room} is {color} at {level:g}"


@tool
def print_journal() -> str:
    """Print the journal."""
    return "an empty one"


@pytest.mark.behaviour("template.offline-calls-by-rules")
@pytest.mark.parametrize(
    ("question", "name", "result"),
    [
        ("Add 2 and 40", "add_numbers", "42"),
        ("Where is order A-17?", "find_order", "A-17: open"),
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
        ("Switch the lamp in Berlin, by 70", 'Call set_light with {"room": "Berlin", "color": "red", "level": 70}'),
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


GUARD_SECONDS = 5.0

NODE = {"$ref": "#/$defs/node", "$defs": {"node": {"properties": {"next": {"$ref": "#/$defs/node"}, "name": {}}}}}
FITTING: dict[str, Any] = {
    "any": {},
    "a text": {"type": "string"},
    "a long text": {"type": "string", "minLength": 40},
    "a date": {"type": "string", "format": "date"},
    "a whole number": {"type": "integer", "minimum": 3},
    "a number above": {"type": "number", "exclusiveMinimum": 2},
    "a number below": {"type": "number", "maximum": -2},
    "null": {"type": ["null", "string"]},
    "a list": {"type": "array", "items": {"type": "integer"}, "minItems": 2},
    "an object": {"type": "object", "required": ["b"], "properties": {"a": {"const": 1}}, "additionalProperties": True},
    "one of": {"oneOf": [{"type": "null"}, {"type": "string"}]},
    "all of": {"allOf": [{"required": ["a"]}, {"properties": {"b": {"type": "string"}}, "required": ["b"]}]},
    "a tree": NODE,
    "itself, which must be": {"type": "object", "properties": {"a": {"type": "array", "items": {"$ref": "#"}}}},
}


@pytest.mark.parametrize("schema", FITTING.values(), ids=list(FITTING))
def test_what_people_mostly_write_is_met(schema: dict[str, Any]) -> None:
    answer = in_format("hi", schema)

    assert answer == in_format("hi", {"type": "json_schema", "json_schema": {"schema": schema}})
    Draft202012Validator(schema).validate(json.loads(answer))


@pytest.mark.parametrize("schema", [{"$ref": "#"}, {"$ref": "#/nowhere"}, {"enum": [None]}, {"items": [True]}, True])
def test_what_leads_nowhere_ends(schema: Any) -> None:
    assert json.loads(in_format("hi", {"type": "json_schema", "json_schema": {"schema": schema}})) in (None, "hi")


def test_a_class_of_pydantic_is_a_format_too() -> None:
    class City(BaseModel):
        name: str
        degrees: float | None

    assert City.model_validate_json(in_format("hi", City)) == City(name="hi", degrees=0.0)


def object_of(properties: int, part: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of an object with so many properties that must be."""
    names = [f"p{number}" for number in range(properties)]
    return {"type": "object", "properties": dict.fromkeys(names, part), "required": names}


def list_of(items: int, part: dict[str, Any], levels: int = 1) -> dict[str, Any]:
    """Return the schema of lists within lists, each of so many items."""
    for _ in range(levels):
        part = {"type": "array", "items": part, "minItems": items}
    return part


GROWING = {
    "itself, often": object_of(12, {"$ref": "#"}),
    "lists of lists": list_of(10, {"type": "string"}, levels=8),
    "a text": {"type": "string", "minLength": 10**12},
    "given values": list_of(100, {"const": "x" * 20_000}, levels=2),
    "allowed values": list_of(100, {"enum": [f"{number}" for number in range(2000)]}, levels=2),
    "a long way": {**list_of(100, {"$ref": f"#/$defs/{'a' * 2000}"}, levels=2), "$defs": {"a" * 2000: {}}},
}


@pytest.mark.behaviour("template.offline-values-bounded")
@pytest.mark.parametrize("schema", GROWING.values(), ids=list(GROWING))
async def test_a_format_that_asks_for_too_much_fails_its_run_with_a_sentence(
    schema: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    """However few bytes ask for it; whoever asks next is answered."""
    agent = Agent(OfflineChatClient(), name="Joker")
    async with served(app_of(agent)) as (_, http):
        failed = await asyncio.wait_for(ask(http, "hi", response_format=schema), GUARD_SECONDS)
        after = await ask(http, "hi", response_format={"type": "object"})

    assert (failed.status_code, failed.json()["code"], after.status_code) == (500, "run_failed", 200)
    assert "fills a response_format with at most 10,000 values and 1,000,000 characters" in caplog.text
