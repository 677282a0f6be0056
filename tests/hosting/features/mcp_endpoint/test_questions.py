"""Pauses put to the client's person as forms, and streams that go on elsewhere."""

from __future__ import annotations

import asyncio
from enum import Enum
from typing import Annotated

import pytest
from agent_framework import Agent, tool
from pydantic import BaseModel, Field, WithJsonSchema

from hosting.tools import current, idempotent
from tests.support.carriers import GUARD_SECONDS
from tests.support.clerk import ClerksClient
from tests.support.mcp_wire import ASKS, HANDSHAKE, STATELESS, Session, Wired, until, words

REFUND = "call refund 5"


@pytest.mark.behaviour("mcp-endpoint.questions")
@pytest.mark.parametrize("approved", [True, False])
async def test_an_approval_is_asked_for_and_the_call_goes_on(wired: Wired, handshake: Session, approved: bool) -> None:
    """The tool is called once, and only if the person approves."""
    async with handshake.calling(REFUND, "Clerk") as events:
        question = await asyncio.wait_for(until(events, "id"), GUARD_SECONDS)
        answered = await handshake.answer(question, "accept", approved=approved)
        again = await handshake.answer(question, "accept", approved=not approved)
        last = await asyncio.wait_for(until(events, "result"), GUARD_SECONDS)

    assert question["method"] == "elicitation/create"
    assert question["params"]["message"] == 'Clerk wants to call refund({"n": "5"}). Approve it?'
    assert question["params"]["requestedSchema"]["required"] == ["approved"]
    assert (answered.status_code, again.status_code) == (202, 202)
    assert (last["result"]["content"][0]["text"] == "told: refunded 5") is approved
    assert len(wired.notes) == approved


@pytest.mark.behaviour("mcp-endpoint.questions")
async def test_a_stateless_call_is_asked_in_its_result(wired: Wired) -> None:
    """And goes on when it comes again with the answer, however often."""
    session = Session(wired.http, STATELESS, ASKS)
    needed = await session.call(REFUND, tool="Clerk")
    (name, question) = next(iter(needed["inputRequests"].items()))
    response = {name: {"action": "accept", "content": {"approved": True}}}
    goes_on = {"requestState": needed["requestState"], "inputResponses": response}
    last, again = [await session.call(REFUND, tool="Clerk", **goes_on) for _ in range(2)]

    assert needed["resultType"] == "input_required"
    assert question["method"] == "elicitation/create"
    assert last["content"][0]["text"] == "told: refunded 5"
    assert again == last
    assert len(wired.notes) == 1


@pytest.mark.behaviour("mcp-endpoint.resume")
async def test_a_stream_goes_on_from_the_last_event(handshake: Session) -> None:
    """With what came after it, and the same result; without another run."""
    async with handshake.calling("call look 1", "Clerk") as events:
        all_events = [event async for event in events]
    assert len({event.id for event in all_events}) > 3
    for number, event in enumerate(all_events):
        if event.id is not None:
            async with handshake.resuming(event.id) as events:
                resumed = [event.value async for event in events]
            rest = [event.value for event in all_events[number + 1 :]]
            assert resumed[-1] == all_events[-1].value
            assert words(resumed[:-1]) == words(rest[:-1])


@pytest.mark.behaviour("mcp-endpoint.resume")
async def test_a_stream_that_waits_for_a_person_goes_on_without_asking_twice(wired: Wired, handshake: Session) -> None:
    """The client has the question already, and answers it after it came back."""
    async with handshake.calling(REFUND, "Clerk") as events:
        async for event in events:
            if event.value is not None and "id" in event.value:
                break
    async with handshake.resuming(event.id or "") as events:
        await handshake.answer(event.value, "accept", approved=True)
        values = [event.value async for event in events]

    assert "elicitation/create" not in [value.get("method") for value in values]
    assert values[-1]["result"]["content"][0]["text"] == "told: refunded 5"
    assert len(wired.notes) == 1


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
    spoons: int = 2


@idempotent
@tool
async def brew(n: str) -> str:
    """Ask for a coffee, and for a number."""
    coffee = await current().ask("Which?", schema=Coffee)
    floor = await current().ask("Which floor?", schema={"type": "integer", "minimum": 1, "title": "Floor"})
    return f"{coffee.size} {coffee.milk.value} {coffee.extras[0].value} {coffee.sizes} {coffee.spoons}, floor {floor}"


@idempotent
@tool
async def plan(n: str) -> str:
    """Ask for what no form has."""
    return str(await current().ask("Which stops?", schema={"type": "array", "items": {"type": "string"}}))


@idempotent
@tool
async def size(n: str) -> str:
    """Ask for one choice."""
    return str(await current().ask("Which size?", schema={"type": "string", "oneOf": TITLED}))


async def asking(version: str) -> Session:
    """Return a client of an agent whose tools ask."""
    app = Wired(None, Agent(ClerksClient(), name="Driver", tools=[plan, brew, size]))
    return await Session(app.http, version, ASKS).begun()


@pytest.mark.behaviour("mcp-endpoint.questions")
async def test_a_question_that_fits_into_no_form_is_answered_elsewhere() -> None:
    """The result says where."""
    result = await (await asking(HANDSHAKE)).call("call plan 1", tool="Driver")

    assert result["structuredContent"]["pending_approvals"][0]["question"] == "Which stops?"


@pytest.mark.behaviour("mcp-endpoint.questions")
async def test_an_answer_is_asked_for_by_its_schema() -> None:
    """Fields of an object, or one field; what a field refers to is its schema.

    What does not fit is refused, and can be sent again; what forms do not have is left to that check.
    """
    session = await asking(HANDSHAKE)
    right = {"size": "s", "milk": "oat", "extras": ["cow"], "sizes": ["s", "l"], "spoons": 3}
    async with session.calling("call brew 1", "Driver") as events:
        question = await asyncio.wait_for(until(events, "id"), GUARD_SECONDS)
        wrong = await session.answer(question, "accept", **{**right, "extras": ["tea"]})
        await session.answer(question, "accept", **right)
        second = await asyncio.wait_for(until(events, "id"), GUARD_SECONDS)
        await session.answer(second, "accept", answer=3)
        last = await asyncio.wait_for(until(events, "result"), GUARD_SECONDS)

    schema = question["params"]["requestedSchema"]
    fields, extra = schema["properties"], {"type": "string", "enum": ["cow", "oat"]}
    assert fields["size"] == {"type": "string", "title": "Size", "oneOf": TITLED}
    assert (fields["milk"]["type"], fields["milk"]["enum"]) == ("string", ["cow", "oat"])
    assert fields["extras"] == {"type": "array", "title": "Extras", "minItems": 1, "items": extra}
    assert fields["sizes"] == {"type": "array", "title": "Sizes", "maxItems": 2, "items": {"anyOf": TITLED}}
    assert fields["spoons"] == {"type": "integer", "title": "Spoons", "default": 2}
    assert schema["required"] == ["size", "milk", "extras", "sizes"]
    assert (wrong.status_code, wrong.json()["error"]["data"]["code"]) == (400, "invalid_input")
    assert second["params"]["message"] == "Which floor?"
    assert second["params"]["requestedSchema"]["properties"] == {
        "answer": {"type": "integer", "title": "Floor", "minimum": 1}
    }
    assert last["result"]["content"][0]["text"] == "told: s oat cow ['s', 'l'] 3, floor 3"


@pytest.mark.behaviour("mcp-endpoint.questions")
async def test_an_older_version_has_the_titles_as_names() -> None:
    """Its clients do not know the other form."""
    session = await asking("2025-06-18")
    async with session.calling("call size 1", "Driver") as events:
        question = await asyncio.wait_for(until(events, "id"), GUARD_SECONDS)

    asked = question["params"]["requestedSchema"]["properties"]["answer"]
    assert (asked["enum"], asked["enumNames"]) == (["s", "l"], ["Small", "Large"])
