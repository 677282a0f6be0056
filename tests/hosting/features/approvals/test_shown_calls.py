"""The calls of a run that goes on after an answer: shown with their arguments, wherever a call is shown."""

from __future__ import annotations

from datetime import date
from typing import Any

import httpx
import pytest
from agent_framework import Agent, tool

from hosting.app import AgentFunctionApp
from tests.support.clerk import ClerksClient
from tests.support.desk import Desk
from tests.support.event_stream import parse
from tests.support.made_app import MEMORY, served

pytestmark = pytest.mark.behaviour("approvals.shown-arguments")

CLERK = "/api/agents/Clerk"
THREAD = f"{CLERK}/threads/t"
EVENTS = {"accept": "text/event-stream"}
Calls = list[tuple[str, Any]]


async def in_timeline(http: httpx.AsyncClient, run: str) -> Calls:
    """Return the tools that a run's timeline says it called, with their arguments."""
    steps = (await http.get(f"{run}/timeline")).json()["steps"]
    return sorted((step["tool"], step["arguments"]) for step in steps if step["kind"] == "tool_call")


def in_stream(text: str) -> Calls:
    """Return the tools whose calls a stream has, with their arguments."""
    frames = [frame.fields for frame in parse(text) if frame.event == "tool_call"]
    return sorted((fields["tool"], fields["arguments"]) for fields in frames)


async def asked(http: httpx.AsyncClient, message: str) -> str:
    """Have the agent wait for one answer; return where it goes."""
    body = {"message": message, "thread_id": "t"}
    (approval,) = (await http.post(f"{CLERK}/run", json=body)).json()["pending_approvals"]
    return f"{THREAD}/approvals/{approval['id']}"


@pytest.mark.parametrize(("changed", "made"), [({}, "5"), ({"arguments": {"n": "7"}}, "7")])
async def test_a_call_that_waited_is_shown_as_it_is_made_and_so_are_those_beside_it(
    desk: Desk, changed: dict[str, Any], made: str
) -> None:
    """In the stream of the run that goes on, and in its timeline; the person's arguments, if they changed them."""
    place = await asked(desk.http, "call refund 5, look 3")

    stream = await desk.http.post(place, json={"approved": True, **changed}, headers=EVENTS)

    shown = [("look", {"n": "3"}), ("refund", {"n": made})]
    assert in_stream(stream.text) == shown
    assert await in_timeline(desk.http, f"{THREAD}/runs/{stream.headers['x-ms-run-id']}") == shown


@tool(approval_mode="always_require")
def refund(n: str) -> str:
    return n


@tool
def send(on: date) -> str:
    return f"{on}"


async def test_arguments_of_which_the_framework_made_python_values_are_shown_as_json() -> None:
    app = AgentFunctionApp(agents=[Agent(ClerksClient(), name="Clerk", tools=[refund, send])], environ=MEMORY)
    async with served(app) as (_, http):
        place = await asked(http, "call refund 5, send on=2026-01-02")
        stream = await http.post(place, json={"approved": True}, headers=EVENTS)

    assert in_stream(stream.text) == [("refund", {"n": "5"}), ("send", {"on": "2026-01-02"})]
