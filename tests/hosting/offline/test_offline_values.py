"""The offline model's answer in a wanted format."""

import asyncio
import json
from typing import Any

import pytest
from agent_framework import Agent
from jsonschema import Draft202012Validator
from pydantic import BaseModel

from hosting.offline.model import OfflineChatClient
from hosting.offline.values import in_format
from tests.support.made_app import app_of, ask, served

GUARD_SECONDS = 5.0

NODE = {"$ref": "#/$defs/node", "$defs": {"node": {"properties": {"next": {"$ref": "#/$defs/node"}, "name": {}}}}}
FITTING: dict[str, Any] = {
    "any": {},
    "a text": {"type": "string"},
    "a long text": {"type": "string", "minLength": 40},
    "a short text": {"type": "string", "maxLength": 2},
    "a date": {"type": "string", "format": "date"},
    "a whole number": {"type": "integer", "minimum": 3},
    "a number above": {"type": "number", "exclusiveMinimum": 2},
    "a number below": {"type": "number", "maximum": -2},
    "yes or no": {"type": "boolean"},
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
    "texts": list_of(100, {"type": "string", "minLength": 20_000}),
    "given values": list_of(100, {"const": "x" * 20_000}, levels=2),
    "defaults": list_of(100, {"default": "x" * 20_000}, levels=2),
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
