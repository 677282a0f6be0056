"""Choices in a form: with titles, several at once, and as older versions of the protocol have them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from enum import Enum
from typing import Annotated, Any

import pytest
from agent_framework import Agent, tool
from pydantic import BaseModel, Field, WithJsonSchema

from hosting.tools import current, idempotent
from tests.support.carriers import GUARD_SECONDS
from tests.support.clerk import ClerksClient
from tests.support.mcp_wire import ASKS, HANDSHAKE, Session, Wired, until

pytestmark = pytest.mark.behaviour("mcp-endpoint.questions")

TITLED = [{"const": "s", "title": "Small"}, {"const": "l", "title": "Large"}]
OF_TITLED = {"type": "array", "items": {"anyOf": TITLED}, "maxItems": 2, "uniqueItems": True}


class Milk(Enum):
    """A class of values, which a schema only refers to."""

    COW = "cow"
    OAT = "oat"


class Coffee(BaseModel):
    """What a tool asks for."""

    size: Annotated[str, WithJsonSchema({"type": "string", "oneOf": TITLED})]
    milk: Milk
    extras: Annotated[list[Milk], Field(min_length=1)]
    sizes: Annotated[list[str], WithJsonSchema(OF_TITLED)]


@idempotent
@tool
async def brew(n: str) -> str:
    """Ask for a coffee."""
    coffee = await current().ask("Which?", schema=Coffee)
    return f"{coffee.size} {coffee.milk.value} {coffee.extras[0].value} {coffee.sizes}"


@idempotent
@tool
async def size(n: str) -> str:
    """Ask for one choice."""
    return str(await current().ask("Which size?", schema={"type": "string", "oneOf": TITLED}))


@idempotent
@tool
async def mixed(n: str) -> str:
    """Ask for a list of what is no text."""
    return str(await current().ask("Which?", schema={"type": "array", "items": {"enum": ["a", 1]}}))


@pytest.fixture
async def wired() -> AsyncIterator[Wired]:
    """An agent whose tools ask."""
    wired = Wired(None, Agent(ClerksClient(), name="Barista", tools=[brew, size, mixed]))
    async with wired.http:
        yield wired


async def begun(wired: Wired, version: str = HANDSHAKE) -> Session:
    """Return a session of a client whose person answers."""
    session = Session(wired.http, version, ASKS)
    await session.begin()
    return session


async def asked(session: Session, query: str) -> dict[str, Any]:
    """Return the question of a call, or its result if it has none."""
    async with session.calling(query, "Barista") as events:
        return await asyncio.wait_for(until(events, "id"), GUARD_SECONDS)


async def test_a_form_has_choices_with_titles_and_several_at_once(wired: Wired) -> None:
    """What a field refers to is its schema; what forms do not have is left to the check of the answer."""
    session = await begun(wired)
    async with session.calling("call brew 1", "Barista") as events:
        question = await asyncio.wait_for(until(events, "id"), GUARD_SECONDS)
        wrong = await session.answer(question, "accept", size="s", milk="oat", extras=["tea"], sizes=[])
        await session.answer(question, "accept", size="s", milk="oat", extras=["cow"], sizes=["s", "l"])
        last = await asyncio.wait_for(until(events, "result"), GUARD_SECONDS)

    fields = question["params"]["requestedSchema"]["properties"]
    assert fields["size"] == {"type": "string", "title": "Size", "oneOf": TITLED}
    assert (fields["milk"]["type"], fields["milk"]["enum"]) == ("string", ["cow", "oat"])
    assert fields["extras"] == {
        "type": "array",
        "title": "Extras",
        "minItems": 1,
        "items": {"type": "string", "enum": ["cow", "oat"]},
    }
    assert fields["sizes"] == {"type": "array", "title": "Sizes", "maxItems": 2, "items": {"anyOf": TITLED}}
    assert wrong.json()["error"]["data"]["code"] == "invalid_input"
    assert last["result"]["content"][0]["text"] == "told: s oat cow ['s', 'l']"


async def test_an_older_version_has_the_titles_as_names(wired: Wired) -> None:
    """Its clients do not know the other form."""
    question = await asked(await begun(wired, "2025-06-18"), "call size 1")

    assert question["params"]["requestedSchema"]["properties"]["answer"] == {
        "type": "string",
        "enum": ["s", "l"],
        "enumNames": ["Small", "Large"],
    }
