"""Workflows that take a value: tools with an input schema of their own."""

from __future__ import annotations

from typing import Annotated, Any, Never

import pytest
from agent_framework import Executor, Workflow, WorkflowBuilder, WorkflowContext, handler
from jsonschema import Draft202012Validator
from mcp_types import methods
from pydantic import BaseModel, ConfigDict, Field

from tests.support.flows import order_flow
from tests.support.mcp_wire import HANDSHAKE, STATELESS, Session, Wired

pytestmark = pytest.mark.behaviour("mcp-endpoint.typed-tools")


class Place(BaseModel):
    """Where."""

    street: str


class Delivery(BaseModel):
    """What goes where."""

    model_config = ConfigDict(extra="forbid")

    item: Annotated[str, Field(description="What to bring.")]
    place: Place


class Driver(Executor):
    """Takes what has a type of its own."""

    @handler
    async def drive(self, delivery: Delivery, ctx: WorkflowContext[Never, str]) -> None:
        """Say where it goes."""
        await ctx.yield_output(f"{delivery.item} to {delivery.place.street}")


class Tour(Executor):
    """Takes what is no object."""

    @handler
    async def drive(self, places: list[Place], ctx: WorkflowContext[Never, str]) -> None:
        """Say where it goes."""
        await ctx.yield_output(" and ".join(place.street for place in places))


def driver_flow() -> Workflow:
    """Return the workflow of an object."""
    return WorkflowBuilder(name="Deliver", description="Brings it.", start_executor=Driver("driver")).build()


def tour_flow() -> Workflow:
    """Return the workflow of a list."""
    return WorkflowBuilder(name="Tour", start_executor=Tour("tour")).build()


async def called(wired: Wired, version: str, tool: str, arguments: Any) -> dict[str, Any]:
    """Return the result of a call in a new session."""
    session = Session(wired.http, version)
    if version == HANDSHAKE:
        await session.begin()
    result = await session.result("tools/call", name=tool, arguments=arguments)
    methods.validate_server_result("tools/call", version, result)
    return result


async def test_a_workflow_of_an_object_is_a_tool_with_its_fields() -> None:
    """As its author wrote them, with the parts that they refer to."""
    wired = Wired(workflows=[driver_flow])
    async with wired.http:
        tool = (await Session(wired.http, STATELESS).result("tools/list"))["tools"][-1]

    assert (tool["name"], tool["description"]) == ("Deliver", "Brings it.")
    assert tool["inputSchema"] == Delivery.model_json_schema()
    assert tool["inputSchema"]["additionalProperties"] is False


@pytest.mark.parametrize("version", [HANDSHAKE, STATELESS])
async def test_the_arguments_of_a_call_are_its_input(version: str) -> None:
    """The result has its words, and the value of one that yields a value."""
    wired = Wired(workflows=[driver_flow, order_flow])
    async with wired.http:
        told = await called(wired, version, "Deliver", {"item": "tea", "place": {"street": "High Street"}})
        sold = await called(wired, version, "Orders", {"item": "tea", "count": 2})

    assert told["content"] == [{"type": "text", "text": "tea to High Street"}]
    assert sold["structuredContent"]["value"] == {"item": "tea", "total": 6}


async def test_a_workflow_of_another_type_has_it_as_one_argument() -> None:
    """A tool's arguments are an object; what the type refers to is found from its root."""
    wired = Wired(workflows=[tour_flow])
    async with wired.http:
        tool = (await Session(wired.http, STATELESS).result("tools/list"))["tools"][-1]
        result = await called(wired, STATELESS, "Tour", {"input": [{"street": "A"}, {"street": "B"}]})
        missing = await called(wired, STATELESS, "Tour", {})

    takes = Draft202012Validator(tool["inputSchema"])
    assert takes.is_valid({"input": [{"street": "A"}]})
    assert not takes.is_valid({"input": [{"street": 1}]})
    assert not takes.is_valid({})
    assert result["content"][0]["text"] == "A and B"
    assert missing["structuredContent"]["code"] == "invalid_input"


@pytest.mark.parametrize(
    "arguments", [{}, {"item": "tea"}, {"item": "tea", "place": {"street": "A"}, "more": 1}, {"query": "tea"}]
)
async def test_arguments_that_do_not_fit_are_a_tool_error(arguments: Any) -> None:
    """The model reads which field it is, and no run begins."""
    wired = Wired(workflows=[driver_flow])
    async with wired.http:
        result = await called(wired, HANDSHAKE, "Deliver", arguments)

    assert (result["isError"], result["structuredContent"]) == (True, {"code": "invalid_input"})
    assert "place" in result["content"][0]["text"] or "more" in result["content"][0]["text"]


async def test_a_call_that_comes_again_is_one_run() -> None:
    """And other arguments under its id are refused."""
    wired = Wired(workflows=[order_flow])
    async with wired.http:
        session = Session(wired.http, HANDSHAKE)
        await session.begin()
        results = [
            await session.result("tools/call", "r", name="Orders", arguments={"item": item}) for item in ("a", "a", "b")
        ]

    assert results[0] == results[1]
    assert results[2]["structuredContent"] == {"code": "idempotency_key_reused"}
