"""What one holder appends, and what it is given of earlier attempts."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from agent_framework import Agent, AgentResponseUpdate, Content, FunctionInvocationLayer

from hosting.core.agent.agent_loop import AgentLoop
from hosting.core.agent.agent_runner import AgentAnswer, AttemptOutcome
from hosting.core.agent.deltas import BatchPace, DeltaWriter
from hosting.core.agent.held_run import StaleTokenError
from hosting.core.agent.recorded import digest
from hosting.core.agent.step_recorder import StepRecorder
from hosting.core.agent.steps import AgentSteps
from hosting.core.stores.memory import MemoryObjects, MemoryThreadStore
from hosting.core.thread.commands import CancelRun, ClaimRun, RecordSteps
from hosting.core.thread.events import Delta, Step, ToolStarted
from hosting.core.thread_log import ThreadLog
from hosting.errors import LogUnavailableError
from hosting.names import Address
from hosting.ports import Clocks
from tests.hosting.core.agent.attempts import attempt, outcome_of
from tests.support.clock import Clock
from tests.support.planned import PlannedModel, planned_agent
from tests.support.thread_stores import ArmedStore
from tests.support.threads import NOW, accept, held_run, model_result, terms

ADDRESS = Address.of("Helper", "t1")
DELTA = Delta(at=NOW, run_id="r1", offset=0, text="Good")


class Holding:
    """A thread whose run is claimed, and its holder."""

    def __init__(self) -> None:
        self.store = ArmedStore(MemoryThreadStore("hub"))
        self.log = ThreadLog(self.store, MemoryObjects(), "hub", patience_seconds=0.01)

    async def begin(self, *steps: Any) -> Holding:
        """Have an attempt record these steps, and another one take the run over."""
        await self.log.execute(ADDRESS, accept("r1", claimed=True), is_new=True)
        await self.log.execute(ADDRESS, RecordSteps("token-r1", steps))
        head = await self.log.head(ADDRESS)
        await self.log.execute(ADDRESS, ClaimRun(NOW, terms("token"), idle_append=head.append_id))
        self.held = await held_run(self.log, ADDRESS)
        return self

    async def kinds(self) -> list[str]:
        """Return the kinds of what stands behind the second claim."""
        return [event.kind for _, event in (await self.log.events(ADDRESS, 0))][6:]


@pytest.mark.behaviour("runner.steps")
@pytest.mark.behaviour("streams.words-before-steps")
async def test_deltas_that_wait_stand_before_the_step_that_follows_them_and_only_once() -> None:
    holding = await Holding().begin(*[model_result()] * 3)
    waiting = [(DELTA,)]
    holding.held.take_deltas = lambda: waiting.pop() if waiting else ()
    before = holding.store.calls["append"]
    await holding.held.append_on_loop(model_result(number=2))

    assert (await holding.kinds(), holding.store.calls["append"]) == (["delta", "model_result"], before + 1)
    assert holding.held.unlogged == ()


@pytest.mark.behaviour("runner.steps")
async def test_an_attempt_that_cannot_be_made_again_leaves_the_holder_its_token() -> None:
    """With the log away; and one whose run was cancelled has ended with that."""
    holding = await Holding().begin(*[model_result()] * 3)
    holding.store.is_away = True
    with pytest.raises(LogUnavailableError):
        await holding.held.retry("another", "run_failed")
    holding.store.is_away = False
    await holding.log.execute(ADDRESS, CancelRun(NOW, "r1"))

    assert holding.held.token == "token"
    with pytest.raises(StaleTokenError):
        await holding.held.retry("third", "run_failed")
    assert await holding.kinds() == ["cancel_requested", "cancelled"]


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
        agent = agent or planned_agent(self.noted.append, plan=("all done",))
        steps = AgentSteps(agent, StepRecorder(self.held, reports_unknown_outcomes=False))
        return await outcome_of(agent, loop, attempt("go", run_id="r1", steps=steps))


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


ADDRESS = Address.of("Helper", "t1")


class Streaming:
    """One attempt that streams, and the deltas that a follower in its process gets."""

    def __init__(self, seconds: float = 60.0) -> None:
        self.store = ArmedStore(MemoryThreadStore("hub"))
        self.log = ThreadLog(self.store, MemoryObjects(), "hub", patience_seconds=0.01)
        self.streamed: list[tuple[int, str]] = []
        self._seconds = seconds

    async def begin(self) -> Streaming:
        """Claim the run."""
        await self.log.execute(ADDRESS, accept("r1", claimed=True), is_new=True)
        self.held = await held_run(self.log, ADDRESS)
        self.pace = BatchPace(self._seconds, 1000)
        self.writer = DeltaWriter(self.held, self.pace, lambda at, text, attempt: self.streamed.append((at, text)))
        return self

    async def write(self, *texts: str, is_known: bool = False) -> None:
        """Stream these, and wait until what is logged of them is logged."""
        for text in texts:
            self.writer.write(
                AgentResponseUpdate(contents=[Content.from_text(text)], role="assistant"), is_known=is_known
            )
        for _ in range(20):
            await asyncio.sleep(0)

    async def deltas(self) -> list[tuple[int, str]]:
        """Return the deltas that the log has, with their offsets."""
        return [(e.offset, e.text) for _, e in await self.log.events(ADDRESS, 0) if isinstance(e, Delta)]


@pytest.mark.behaviour("runner.words")
@pytest.mark.behaviour("streams.batched")
async def test_the_first_delta_is_logged_at_once_and_the_next_ones_together() -> None:
    streaming = await Streaming().begin()
    await streaming.write("Good ")
    await streaming.write("mor", "ning")

    assert streaming.streamed == [(0, "Good "), (5, "mor"), (8, "ning")]
    assert await streaming.deltas() == [(0, "Good ")]
    assert [(one.offset, one.text) for one in await streaming.writer.close("Good morning")] == [(5, "morning")]


@pytest.mark.behaviour("runner.words")
@pytest.mark.behaviour("streams.mended")
async def test_an_answer_that_differs_from_what_was_streamed_replaces_it() -> None:
    streaming = await Streaming().begin()
    await streaming.write("Good morning")

    last = await streaming.writer.close("Good evening")

    assert [(one.offset, one.text) for one in last] == [(5, "evening")]
    assert streaming.streamed[-1] == (5, "evening")


@pytest.mark.behaviour("runner.words")
async def test_an_answer_that_was_logged_whole_is_not_logged_again() -> None:
    streaming = await Streaming().begin()
    await streaming.write("Good")

    assert await streaming.writer.close("Good") == ()
    shorter = await Streaming().begin()
    await shorter.write("Good night")
    assert [(one.offset, one.text) for one in await shorter.writer.close("Good")] == [(4, "")]


@pytest.mark.behaviour("runner.words")
@pytest.mark.behaviour("streams.unicode")
async def test_half_a_character_waits_for_its_other_half() -> None:
    streaming = await Streaming().begin()
    await streaming.write("A\ud83d")
    await streaming.write("\ude00!")

    assert streaming.streamed == [(0, "A"), (1, "\U0001f600!")]


@pytest.mark.behaviour("runner.words")
@pytest.mark.behaviour("streams.log-down")
async def test_deltas_of_an_append_that_nobody_knows_of_go_again_with_the_end() -> None:
    """Their offset says where they stand, once or twice."""
    streaming = await Streaming().begin()
    streaming.store.is_away = True
    await streaming.write("Good morning")
    await asyncio.sleep(0.05)
    streaming.store.is_away = False

    last = (*streaming.held.unlogged, *await streaming.writer.close("Good morning"))

    assert [(one.offset, one.text) for one in last] == [(0, "Good morning")]
