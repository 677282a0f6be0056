"""A lease as its holder knows it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from agent_framework import Agent, FunctionInvocationLayer

from hosting.names import Address
from hosting.request.run_request import RunRequest
from hosting.runner.agent_loop import AgentLoop
from hosting.runner.agent_runner import AgentAnswer, AgentRunner, Attempt, AttemptOutcome
from hosting.runner.history import History
from hosting.runner.journal import Journal, Lease, StaleTokenError
from hosting.runner.steps import AgentSteps, StepRecorder, digest_of_arguments
from hosting.runner.thread_log import ThreadLog
from hosting.stores.memory import MemoryObjects, MemoryThreadStore
from hosting.thread.commands import ClaimRun, RecordSteps
from hosting.thread.events import Step, ToolStarted
from hosting.thread.messages import request_messages
from hosting.thread.run import fold_run
from tests.support.planned import PlannedModel, planned_agent
from tests.support.threads import accept, terms

ADDRESS = Address.of("Helper", "t1")


class Clock:
    """Seconds that pass when a test says so."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.behaviour("runner.lease")
def test_a_lease_that_was_not_renewed_in_time_is_lost() -> None:
    """By the holder's own clock, which goes on while the machine sleeps."""
    clock = Clock()
    lease = Lease(20.0, clock)
    clock.now += 19.9
    held = lease.is_held
    clock.now += 0.1

    assert (held, lease.is_held) == (True, False)


@pytest.mark.behaviour("runner.lease")
def test_a_lease_counts_from_before_the_append_that_renewed_it() -> None:
    """Its answer may have taken long."""
    clock = Clock()
    lease = Lease(20.0, clock)
    clock.now += 10
    began_at = lease.clock()
    clock.now += 9
    lease.renew(began_at)
    clock.now += 10.9

    assert lease.is_held
    clock.now += 0.2
    assert not lease.is_held


class Holder:
    """A holder of a claimed run, whose clock passes when a test says so, and its agent, which calls no tools."""

    async def begin(self, *steps: Step) -> Holder:
        """Claim the run, in which an earlier attempt recorded these steps."""
        self.clock = Clock()
        self.noted: list[str] = []
        self.log = ThreadLog(MemoryThreadStore("hub"), MemoryObjects(), "hub")
        await self.log.execute(ADDRESS, accept("r1", claimed=True), is_new=True)
        await self.log.execute(ADDRESS, RecordSteps("token-r1", steps))
        record = fold_run("r1", await self.log.events(ADDRESS, 0))
        assert record is not None
        lease = Lease(20.0, self.clock)
        self.journal = Journal(self.log, ADDRESS, record, "token-r1", lease, on_append=lambda decided: None)
        return self

    async def take_over(self) -> None:
        """Let somebody else claim the run."""
        head = await self.log.head(ADDRESS)
        await self.log.execute(ADDRESS, ClaimRun(0.0, terms("e1", "entity"), idle_append=head.append_id))

    async def run(self, loop: AgentLoop, agent: Agent[Any] | None = None) -> AttemptOutcome:
        """Run the agent once."""
        agent, request = agent or planned_agent(self.noted.append, plan=("all done",)), RunRequest(message="go")
        steps = AgentSteps(agent, StepRecorder(self.journal, reports_unknown_outcomes=False))
        attempt = Attempt("r1", "t1", request, request_messages(request), History([]), None, steps=steps)
        return await asyncio.wait_for(AgentRunner(agent, "Helper", loop).run(attempt, 5.0), 5.0)


@pytest.fixture
def loop() -> Iterator[AgentLoop]:
    """An agent loop of this test's own."""
    loop = AgentLoop(tool_threads=2)
    yield loop
    loop.close()


@pytest.mark.behaviour("runner.lease")
async def test_a_holder_that_slept_past_its_lease_proves_it_before_the_model_is_called(loop: AgentLoop) -> None:
    """By one append, which renews it."""
    holder = await Holder().begin()
    holder.clock.now += 30

    assert isinstance(await holder.run(loop), AgentAnswer)
    assert (holder.journal.lease.is_held, holder.noted) == (True, ["model 1"])


@pytest.mark.behaviour("runner.lease")
async def test_a_holder_that_was_taken_over_while_it_slept_calls_no_model(loop: AgentLoop) -> None:
    """Its attempt is over."""
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
    digest = digest_of_arguments({"n": 0})
    holder = await Holder().begin(ToolStarted(at=0.0, run_id="r1", key="0.1", name="look", digest=digest))
    client = BareClient()
    client.note, client.plan = holder.noted.append, (("look",), "all done")
    tools = planned_agent(holder.noted.append, harmless=True).default_options["tools"]
    await holder.take_over()
    holder.clock.now += 30

    with pytest.raises(StaleTokenError):
        await holder.run(loop, Agent(client, name="Helper", tools=tools))

    assert holder.noted == ["model 1"]
