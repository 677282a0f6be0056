"""Synchronous tools: in threads, bounded in number, in nobody's way, and logged when they outlive their run."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from agent_framework import Agent, AgentResponse

from hosting.core.agent.agent_loop import AgentLoop
from hosting.core.agent.agent_runner import AgentAnswer, AgentFailure, AgentRunner
from tests.hosting.core.agent.attempts import GUARD_SECONDS, attempt
from tests.support.app.scripted import ScriptedClient
from tests.support.cluster.cluster import EchoAgent

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
