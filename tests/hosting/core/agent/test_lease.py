"""A lease as its holder knows it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from agent_framework import Agent, FunctionInvocationLayer

from hosting.core.agent.agent_loop import AgentLoop
from hosting.core.agent.agent_runner import AgentAnswer, AgentRunner, Attempt, AttemptOutcome
from hosting.core.agent.held_run import StaleTokenError
from hosting.core.agent.recorded import digest
from hosting.core.agent.step_recorder import StepRecorder
from hosting.core.agent.steps import AgentSteps
from hosting.core.stores.memory import MemoryObjects, MemoryThreadStore
from hosting.core.thread.commands import ClaimRun, RecordSteps
from hosting.core.thread.events import Step, ToolStarted
from hosting.core.thread.messages import request_messages
from hosting.core.thread.run_request import RunRequest
from hosting.core.thread_log import ThreadLog
from hosting.names import Address
from hosting.ports import Clocks
from tests.support.clock import Clock
from tests.support.planned import PlannedModel, planned_agent
from tests.support.thread_stores import ArmedStore
from tests.support.threads import accept, held_run, terms

ADDRESS = Address.of("Helper", "t1")


class Holder:
    """A holder of a claimed run, whose clock passes when a test says so, and its agent, which calls no tools."""

    async def begin(self, *steps: Step) -> Holder:
        """Claim the run, in which an earlier attempt recorded these steps."""
        self.clock = Clock(100.0)
        self.noted: list[str] = []
        self.store = ArmedStore(MemoryThreadStore("hub"))
        self.log = ThreadLog(self.store, MemoryObjects(), "hub", clocks=Clocks(awake=self.clock))
        await self.log.execute(ADDRESS, accept("r1", claimed=True), is_new=True)
        await self.log.execute(ADDRESS, RecordSteps("token-r1", steps))
        self.held = await held_run(self.log, ADDRESS)
        return self

    async def take_over(self) -> None:
        """Let somebody else claim the run."""
        head = await self.log.head(ADDRESS)
        await self.log.execute(ADDRESS, ClaimRun(0.0, terms("e1", "entity"), idle_append=head.append_id))

    async def run(self, loop: AgentLoop, agent: Agent[Any] | None = None) -> AttemptOutcome:
        """Run the agent once."""
        agent, request = agent or planned_agent(self.noted.append, plan=("all done",)), RunRequest(message="go")
        steps = AgentSteps(agent, StepRecorder(self.held, reports_unknown_outcomes=False))
        attempt = Attempt("r1", "t1", request, request_messages(request), [], None, steps=steps)
        return await asyncio.wait_for(AgentRunner(agent, "Helper", loop).run(attempt, 5.0), 5.0)


@pytest.fixture
def loop() -> Iterator[AgentLoop]:
    """An agent loop of this test's own."""
    loop = AgentLoop(tool_threads=2)
    yield loop
    loop.close()


@pytest.mark.behaviour("runner.lease")
async def test_a_lease_counts_from_before_the_append_that_renewed_it() -> None:
    holder = await Holder().begin()

    async def take_long() -> None:
        holder.clock.now += 9

    holder.clock.now += 10
    holder.store.before_append = take_long
    await holder.held.renew()
    holder.clock.now += 10.9

    assert holder.held.has_lease
    holder.clock.now += 0.2
    assert not holder.held.has_lease


@pytest.mark.behaviour("runner.lease")
async def test_a_holder_that_slept_past_its_lease_proves_it_before_the_model_is_called(loop: AgentLoop) -> None:
    holder = await Holder().begin()
    holder.clock.now += 30

    assert isinstance(await holder.run(loop), AgentAnswer)
    assert (holder.held.has_lease, holder.noted) == (True, ["model 1"])


@pytest.mark.behaviour("runner.lease")
async def test_a_holder_that_was_taken_over_while_it_slept_calls_no_model(loop: AgentLoop) -> None:
    holder = await Holder().begin()
    await holder.take_over()
    holder.clock.now += 30

    with pytest.raises(StaleTokenError):
        await holder.run(loop)

    assert holder.noted == []


class BareClient(FunctionInvocationLayer[Any], PlannedModel):
    """The planned model without chat middleware: its model calls are no steps."""


@pytest.mark.behaviour("runner.lease")
async def test_a_holder_that_was_taken_over_while_it_slept_calls_no_tool_again(loop: AgentLoop) -> None:
    """Although the tool is idempotent, and its call began in an earlier attempt."""
    identity = digest({"n": 0})
    holder = await Holder().begin(ToolStarted(at=0.0, run_id="r1", key="0.1", name="look", digest=identity))
    client = BareClient()
    client.note, client.plan = holder.noted.append, (("look",), "all done")
    tools = planned_agent(holder.noted.append, harmless=True).default_options["tools"]
    await holder.take_over()
    holder.clock.now += 30

    with pytest.raises(StaleTokenError):
        await holder.run(loop, Agent(client, name="Helper", tools=tools))

    assert holder.noted == ["model 1"]
