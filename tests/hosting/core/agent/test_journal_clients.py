"""Agents over a client without chat middleware: their tool calls are steps all the same, known by their order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest
from agent_framework import Agent, ChatResponse, FunctionInvocationLayer, Message

from hosting.core.thread.events import Event, ToolStarted
from hosting.names import new_id
from tests.support.halted_runs import AFTER_TWO_TOOLS, counting, killed_and_finished
from tests.support.planned import Note, Plan, PlannedModel, planned_agent

pytestmark = pytest.mark.behaviour("journal.clients-without-middleware")

PLAN: Plan = (("add",), ("look",), "all done")


class BareClient(FunctionInvocationLayer[Any], PlannedModel):
    """The planned model without chat middleware, as somebody's own client may be; like others it makes ids anew."""

    async def _answer(self, messages: Sequence[Message]) -> ChatResponse[Any]:
        response = await super()._answer(messages)
        for content in response.messages[0].contents:
            if content.call_id is not None:
                content.call_id = new_id()
        return response


def bare_client(note: Note, plan: Plan) -> BareClient:
    """Return such a client of a plan."""
    client = BareClient()
    client.note, client.plan = note, plan
    return client


def bare_agent(note: Note) -> Agent[Any]:
    """Return an agent with two tools over such a client."""
    tools = planned_agent(note).default_options["tools"]
    return Agent(bare_client(note, PLAN), name="Joker", tools=tools)


async def test_what_its_tools_did_is_not_done_again() -> None:
    counted, note = counting()

    ended = await killed_and_finished(bare_agent(note), counted, appends=AFTER_TWO_TOOLS)

    assert ended.terminal["kind"] == "completed"
    assert ended.done_after == Counter({"model 1": 1, "model 2": 1, "model 3": 1})


async def test_a_model_that_asks_for_another_tool_than_before_ends_the_run() -> None:
    """Nothing is done then: what was done for the calls before might be done twice."""
    counted, note = counting()

    def changed(event: Event) -> Event:
        is_first = isinstance(event, ToolStarted) and event.name == "add"
        return event.model_copy(update={"name": "look"}) if is_first else event

    ended = await killed_and_finished(bare_agent(note), counted, appends=AFTER_TWO_TOOLS, changed=changed)

    assert (ended.terminal["code"], ended.done_after) == ("run_diverged", Counter({"model 1": 1}))
