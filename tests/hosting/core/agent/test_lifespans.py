"""What agents hold open: opened once, on the agent loop, and closed with it."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from agent_framework import Agent, AgentResponse, MCPStreamableHTTPTool

from hosting.core.agent.agent_loop import AgentLoop
from hosting.core.agent.agent_runner import AgentAnswer, AgentFailure, AgentRunner
from tests.hosting.core.agent.attempts import GUARD_SECONDS, attempt, outcome_of
from tests.support.app.scripted import ScriptedClient
from tests.support.cluster.cluster import EchoAgent
from tests.support.planned import planned_client
from tests.support.tool_server import ToolServer


class FirstAway(EchoAgent):
    """An agent that cannot be opened the first time."""

    openings = 0

    async def __aenter__(self) -> object:
        self.openings += 1
        if self.openings == 1:
            raise ConnectionError("the tools are away")
        return self

    async def __aexit__(self, *_: object) -> None:
        """Leave nothing."""


@pytest.mark.behaviour("hosting.opened-once")
async def test_an_agent_that_cannot_be_opened_fails_the_run_and_is_tried_again_by_the_next(loop: AgentLoop) -> None:
    """The caller gets our sentence; those behind it find it open."""
    agent = FirstAway()

    first, second, third = [await outcome_of(agent, loop) for _ in range(3)]

    assert isinstance(first, AgentFailure)
    assert first.error.code == "run_failed"
    assert (type(second), type(third), agent.openings) == (AgentAnswer, AgentAnswer, 2)


@pytest.mark.behaviour("hosting.opened-once")
async def test_agents_that_are_tools_are_opened_and_left_with_the_agent_that_has_them(loop: AgentLoop) -> None:
    """Theirs too: the tool server of the innermost is connected to once, and left when the loop is closed."""
    with ToolServer() as server:
        tool = MCPStreamableHTTPTool("cities", server.url)
        agent = Agent(planned_client(ignore, (("city_of",), "in Paris")), name="Inner", tools=[tool])
        for name in ("Middle", "Outer"):
            within = agent.as_tool(name="within", arg_name="n")
            agent = Agent(planned_client(ignore, (("within",), "there")), name=name, tools=[within])

        outcomes = await asyncio.gather(*(outcome_of(agent, loop) for _ in range(3)))
        await asyncio.to_thread(loop.close)
        await asyncio.to_thread(server.wait_for_end, "subscriptions/listen")

    assert {type(outcome) for outcome in outcomes} == {AgentAnswer}
    assert (server.began.count("server/discover"), server.began.count("tools/call")) == (1, 3)


def ignore(what: str) -> None:
    """Note nothing."""


class Connected(EchoAgent):
    """An agent over a connection, which may break and works again once opened; asked to `stay` it does for a while."""

    def __init__(self) -> None:
        super().__init__()
        self.noted: list[str] = []
        self.failure: Exception | None = None
        self.staying, self.may_go = threading.Event(), asyncio.Event()

    async def _answer(self, texts: list[str]) -> AgentResponse[Any]:
        if texts[-1] == "stay":
            self.staying.set()
            await self.may_go.wait()
            self.noted.append("stayed")
        elif self.failure is not None:
            raise self.failure
        return await super()._answer(texts)

    async def __aenter__(self) -> object:
        self.noted.append("opened")
        self.failure = None
        return self

    async def __aexit__(self, *_: object) -> None:
        self.noted.append("closed")


async def is_answered(agent: Any, loop: AgentLoop, message: str = "hi") -> bool:
    return isinstance(await outcome_of(agent, loop, attempt(message)), AgentAnswer)


@pytest.mark.behaviour("hosting.connections-come-back")
async def test_a_run_under_way_is_not_broken_by_the_opening(loop: AgentLoop) -> None:
    """The next run waits for it, and the agent is left once nobody uses it."""
    agent = Connected()
    staying = asyncio.create_task(is_answered(agent, loop, "stay"))
    await asyncio.to_thread(agent.staying.wait, GUARD_SECONDS)
    agent.failure = EOFError()
    failed = await is_answered(agent, loop)
    waiting = asyncio.create_task(is_answered(agent, loop))
    await asyncio.sleep(0)
    await loop.run(asyncio.sleep(0))  # it has begun, and waits
    before = list(agent.noted)

    async def let_go() -> None:
        agent.may_go.set()

    await loop.run(let_go())

    assert (failed, await staying, await waiting) == (False, True, True)
    assert (before, agent.noted) == (["opened"], ["opened", "stayed", "closed", "opened"])


THREADS = 4


class Gate:
    """A synchronous tool that ends when it is let through, and counts how many wait in it at once."""

    def __init__(self) -> None:
        self.opened = threading.Event()
        self.changed = threading.Condition()
        self.inside = self.most = 0

    def gate(self) -> str:
        """Wait at the gate."""
        self._count(1)
        assert self.opened.wait(GUARD_SECONDS)
        self._count(-1)
        return "through"

    def wait_for(self, number: int) -> bool:
        """Return once so many wait at the gate."""
        with self.changed:
            return self.changed.wait_for(lambda: self.inside >= number, GUARD_SECONDS)

    def _count(self, more: int) -> None:
        with self.changed:
            self.inside += more
            self.most = max(self.most, self.inside)
            self.changed.notify_all()


@pytest.fixture
def gate() -> Iterator[Gate]:
    """A gate that is open at the end, whatever happened."""
    gate = Gate()
    yield gate
    gate.opened.set()


def gated(gate: Gate, loop: AgentLoop) -> AgentRunner:
    """Return an agent whose tool is the gate."""
    return AgentRunner(Agent(ScriptedClient(), "Do as told.", name="Joker", tools=[gate.gate]), "Joker", loop)


class LooksUp(EchoAgent):
    """Looks a name up as every model client does, and answers."""

    async def _answer(self, texts: list[str]) -> AgentResponse[Any]:
        await asyncio.get_running_loop().getaddrinfo("localhost", 80)
        return await super()._answer(texts)


@pytest.mark.behaviour("hosting.sync-tools-in-threads")
async def test_forty_synchronous_tools_at_once_starve_nobody(loop: AgentLoop, gate: Gate) -> None:
    """While some of them hold every tool thread, another agent looks its model's name up and answers."""
    runner, other = gated(gate, loop), LooksUp()

    runs = [asyncio.create_task(runner.run(attempt("tool gate", run_id=f"r-{n}"), 60)) for n in range(40)]
    assert await asyncio.to_thread(gate.wait_for, THREADS)
    meanwhile = await asyncio.wait_for(AgentRunner(other, "Other", loop).run(attempt("hi"), 60), GUARD_SECONDS)
    gate.opened.set()
    outcomes = await asyncio.wait_for(asyncio.gather(*runs), 2 * GUARD_SECONDS)

    assert isinstance(meanwhile, AgentAnswer)
    assert {outcome.response.text for outcome in outcomes if isinstance(outcome, AgentAnswer)} == {"tool said through"}
    assert (len(outcomes), gate.most) == (40, THREADS)


@pytest.mark.behaviour("hosting.late-tools-told")
async def test_a_run_past_its_time_says_that_its_tool_still_works(
    loop: AgentLoop, gate: Gate, caplog: pytest.LogCaptureFixture
) -> None:
    outcome = await asyncio.wait_for(gated(gate, loop).run(attempt("tool gate"), 0.2), GUARD_SECONDS)

    assert isinstance(outcome, AgentFailure)
    assert (outcome.error.code, gate.inside) == ("run_timed_out", 1)
    warnings = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert [line for line in warnings if line.startswith("Run r-1 ")] == [
        "Run r-1 of agent Joker was stopped, and 1 of its synchronous tools still run: threads cannot be stopped. "
        "Their results are dropped."
    ]
