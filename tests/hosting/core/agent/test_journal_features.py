"""The step journal with what else an agent may have: context providers, a wanted format, MCP tools."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from agent_framework import Agent, AgentSession, ContextProvider, MCPStreamableHTTPTool, Message

from hosting.tools import idempotent
from tests.support.halted_runs import AFTER_A_BEGIN, counting, killed_and_finished
from tests.support.planned import Note, planned_agent, planned_client
from tests.support.tool_server import ToolServer

LAST_MODEL_CALL = Counter({"model 3": 1})


class Restless(ContextProvider):
    """Adds how often the model was called in all."""

    def __init__(self) -> None:
        super().__init__("restless")
        self._runs = 0

    async def before_run(self, *, agent: Any, session: AgentSession, context: Any, state: dict[str, Any]) -> None:
        self._runs += 1
        context.extend_messages(self.source_id, [Message("user", [f"This is run {self._runs}."])])


@pytest.mark.behaviour("journal.diverged")
async def test_a_context_provider_that_adds_other_messages_each_time_ends_the_run() -> None:
    """The recorded answers were given to something else."""
    counted, note = counting()
    agent = planned_agent(note, plan=(("add",), ("add",), "all done"))
    agent.context_providers.append(Restless())

    ended = await killed_and_finished(agent, counted)

    assert (ended.terminal["code"], ended.done_after) == ("run_diverged", Counter())


@pytest.mark.behaviour("journal.nothing-twice")
async def test_arguments_that_the_framework_refused_are_refused_again() -> None:
    """The tool was not called for them, and the model gets the same result."""
    counted, note = counting()

    def counts(n: list[int]) -> int:
        note("counts")
        return len(n)

    agent = Agent(planned_client(note, (("counts",), ("counts",), "all done")), name="Joker", tools=[counts])

    ended = await killed_and_finished(agent, counted)

    assert (ended.terminal["kind"], ended.done_after) == ("completed", LAST_MODEL_CALL)
    assert "counts" not in counted


@pytest.mark.behaviour("journal.mcp-tools")
async def test_an_mcp_servers_tools_are_given_again_and_told_the_key_of_each_call() -> None:
    """Over a real socket; the whole answer that the framework keeps beside a result does not count."""
    counted, note = counting()

    with ToolServer() as server:
        agent = asks_twice(note, MCPStreamableHTTPTool("cities", server.url))
        ended = await killed_and_finished(agent, counted)

    assert (ended.terminal["kind"], ended.done_after) == ("completed", LAST_MODEL_CALL)
    assert server.keys == ["r-1-1.call-0-0", "r-1-2.call-1-0"]


@pytest.mark.behaviour("journal.mcp-tools")
@pytest.mark.parametrize("is_harmless", [False, True])
async def test_a_call_of_an_mcp_server_that_was_cut_short_is_made_again_only_if_the_server_is_idempotent(
    is_harmless: bool,
) -> None:
    """Declared for all its tools at once; then under the same key."""
    counted, note = counting()

    with ToolServer() as server:
        tool = MCPStreamableHTTPTool("cities", server.url)
        agent = asks_twice(note, idempotent(tool) if is_harmless else tool)
        ended = await killed_and_finished(agent, counted, appends=AFTER_A_BEGIN)

    assert ended.terminal["kind"] == ("completed" if is_harmless else "failed")
    assert server.keys == (["r-1-1.call-0-0", "r-1-2.call-1-0"] if is_harmless else [])


def asks_twice(note: Note, tool: Any) -> Agent[Any]:
    """Return an agent that calls `city_of` twice."""
    return Agent(planned_client(note, (("city_of",), ("city_of",), "all done")), name="Joker", tools=[tool])
