"""What one holder appends, and what it is given of earlier attempts."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

import pytest
from agent_framework import Agent, AgentResponseUpdate, Content, FunctionInvocationLayer

from hosting.core.agent.agent_loop import AgentLoop
from hosting.core.agent.agent_runner import AgentAnswer, AttemptOutcome
from hosting.core.agent.deltas import AnswerText, BatchPace, DeltaWriter
from hosting.core.agent.held_run import StaleTokenError
from hosting.core.agent.recorded import digest
from hosting.core.agent.step_recorder import StepRecorder
from hosting.core.agent.steps import AgentSteps
from hosting.core.stores.memory import MemoryObjects, MemoryThreadStore
from hosting.core.thread.commands import CancelRun, ClaimRun, RecordSteps
from hosting.core.thread.events import Delta, Failed, Step, ToolResult, ToolStarted, decode, encode
from hosting.core.thread_log import ThreadLog
from hosting.errors import LogUnavailableError
from hosting.names import Address
from hosting.ports import Clocks
from tests.hosting.core.agent.attempts import attempt, outcome_of
from tests.support.clock import Clock
from tests.support.cluster.cluster import AppProcess, Cluster
from tests.support.killed_runs import counting, killed_at
from tests.support.planned import PLAN, Plan, PlannedModel, planned_agent
from tests.support.thread_stores import ArmedStore
from tests.support.threads import NOW, accept, held_run, model_result, terms

ADDRESS = Address.of("Helper", "t1")


class Holder:
    """A holder of a claimed run whose clock passes when a test says so, its agent, and what it streams."""

    async def begin(self, *steps: Step) -> Holder:
        """Claim the run, in which an earlier attempt recorded these steps."""
        self.clock = Clock(100.0)
        self.noted: list[str] = []
        self.store = ArmedStore(MemoryThreadStore("hub"))
        clocks = Clocks(awake=self.clock)
        self.log = ThreadLog(self.store, MemoryObjects(), "hub", clocks=clocks, patience_seconds=0.01)
        await self.log.execute(ADDRESS, accept("r1", claimed=True), is_new=True)
        await self.log.execute(ADDRESS, RecordSteps("token-r1", steps))
        self.held = await held_run(self.log, ADDRESS)
        self.streamed: list[tuple[int, str]] = []
        pace = BatchPace(60.0, 1000)
        self.writer = DeltaWriter(self.held, pace, lambda at, text, attempt: self.streamed.append((at, text)))
        self._begins = (await self.log.head(ADDRESS)).position
        return self

    async def take_over(self) -> None:
        head = await self.log.head(ADDRESS)
        await self.log.execute(ADDRESS, ClaimRun(0.0, terms("e1", "entity"), idle_append=head.append_id))

    async def run(self, loop: AgentLoop, agent: Agent[Any] | None = None) -> AttemptOutcome:
        """Run the agent once; if none is given it calls no tools."""
        agent = agent or planned_agent(self.noted.append, plan=("all done",))
        steps = AgentSteps(agent, StepRecorder(self.held, reports_unknown_outcomes=False))
        return await outcome_of(agent, loop, attempt("go", run_id="r1", steps=steps))

    async def kinds(self) -> list[str]:
        """Return the kinds of what it has appended."""
        return [event.kind for _, event in await self.log.events(ADDRESS, self._begins)]

    async def write(self, *texts: str) -> None:
        """Stream these, and wait until what is logged of them is logged."""
        for text in texts:
            self.writer.write(AgentResponseUpdate(contents=[Content.from_text(text)], role="assistant"), is_known=False)
        for _ in range(20):
            await asyncio.sleep(0)

    async def close(self, text: str) -> list[tuple[int, str]]:
        """End the stream with that answer, and return the deltas that go with the end, with their offsets."""
        last = await self.writer.close(text)
        return [(delta.offset, delta.text) for delta in (*self.held.unlogged, *last)]


@pytest.mark.behaviour("runner.steps")
@pytest.mark.behaviour("streams.words-before-steps")
async def test_deltas_that_wait_stand_before_the_step_that_follows_them_and_only_once() -> None:
    holder = await Holder().begin(model_result())
    waiting = [(Delta(at=NOW, run_id="r1", offset=0, text="Good"),)]
    holder.held.take_deltas = lambda: waiting.pop() if waiting else ()
    before = holder.store.calls["append"]

    await holder.held.append_on_loop(model_result(number=2))

    assert (await holder.kinds(), holder.store.calls["append"]) == (["delta", "model_result"], before + 1)
    assert holder.held.unlogged == ()


@pytest.mark.behaviour("runner.steps")
async def test_an_attempt_that_cannot_be_made_again_leaves_the_holder_its_token() -> None:
    """With the log away; and one whose run was cancelled has ended with that."""
    holder = await Holder().begin(model_result())
    holder.store.is_away = True
    with pytest.raises(LogUnavailableError):
        await holder.held.retry("another", "run_failed")
    holder.store.is_away = False
    await holder.log.execute(ADDRESS, CancelRun(NOW, "r1"))

    assert holder.held.token == "token-r1"
    with pytest.raises(StaleTokenError):
        await holder.held.retry("third", "run_failed")
    assert await holder.kinds() == ["cancel_requested", "cancelled"]


class BareClient(FunctionInvocationLayer[Any], PlannedModel):
    """The planned model without chat middleware: its model calls are no steps."""


@pytest.mark.behaviour("runner.lease")
@pytest.mark.parametrize("is_taken_over", [False, True])
async def test_a_holder_that_slept_past_its_lease_proves_it_before_the_model_is_called(
    loop: AgentLoop, is_taken_over: bool
) -> None:
    """Or finds that somebody else has the run, and calls none."""
    holder = await Holder().begin()
    holder.clock.now += 30
    if is_taken_over:
        await holder.take_over()
        with pytest.raises(StaleTokenError):
            await holder.run(loop)
    else:
        assert isinstance(await holder.run(loop), AgentAnswer)

    assert (holder.held.has_lease, holder.noted) == (not is_taken_over, [] if is_taken_over else ["model 1"])


@pytest.mark.behaviour("runner.lease")
async def test_a_holder_that_was_taken_over_while_it_slept_calls_no_tool_again(loop: AgentLoop) -> None:
    """Although the tool is idempotent, and its call began in an earlier attempt."""
    holder = await Holder().begin(ToolStarted(at=0.0, run_id="r1", key="0.1", name="look", digest=digest({"n": 0})))
    client = BareClient()
    client.note, client.plan = holder.noted.append, (("look",), "all done")
    tools = planned_agent(holder.noted.append, harmless=True).default_options["tools"]
    await holder.take_over()
    holder.clock.now += 30

    with pytest.raises(StaleTokenError):
        await holder.run(loop, Agent(client, name="Helper", tools=tools))

    assert holder.noted == ["model 1"]


@pytest.mark.behaviour("runner.words")
@pytest.mark.behaviour("streams.batched")
async def test_the_first_delta_is_logged_at_once_and_the_next_ones_together() -> None:
    holder = await Holder().begin()
    await holder.write("Good ")
    await holder.write("mor", "ning")

    assert holder.streamed == [(0, "Good "), (5, "mor"), (8, "ning")]
    assert await holder.kinds() == ["delta"]
    assert await holder.close("Good morning") == [(5, "morning")]


@pytest.mark.behaviour("runner.words")
@pytest.mark.behaviour("streams.mended")
@pytest.mark.parametrize(
    ("streamed", "answer", "last"),
    [
        ("Good morning", "Good evening", [(5, "evening")]),
        ("Good", "Good", []),
        ("Good night", "Good", [(4, "")]),
    ],
)
async def test_an_answer_that_differs_from_what_was_streamed_replaces_it(
    streamed: str, answer: str, last: list[tuple[int, str]]
) -> None:
    """Followers are told so, too; one that was logged whole is not logged again."""
    holder = await Holder().begin()
    await holder.write(streamed)

    assert await holder.close(answer) == last
    assert holder.streamed[1:] == last


@pytest.mark.behaviour("runner.words")
@pytest.mark.behaviour("streams.unicode")
async def test_half_a_character_waits_for_its_other_half() -> None:
    holder = await Holder().begin()
    await holder.write("A\ud83d")
    await holder.write("\ude00!")

    assert holder.streamed == [(0, "A"), (1, "\U0001f600!")]


@pytest.mark.behaviour("runner.words")
def test_another_message_id_begins_a_paragraph_and_none_goes_on() -> None:
    """As the framework joins updates; what has no text yet begins none."""
    answer = AnswerText()
    said = [(None, "One"), ("a", " more."), (None, " Still."), ("b", ""), (None, "Two."), ("c", "Three.")]
    updates = [AgentResponseUpdate(contents=[Content.from_text(text)], message_id=name) for name, text in said]

    assert [answer.next(update) for update in updates] == ["One", " more.", " Still.", "", "\n\nTwo.", "\n\nThree."]


@pytest.mark.behaviour("runner.words")
@pytest.mark.behaviour("streams.log-down")
async def test_deltas_of_an_append_that_nobody_knows_of_go_again_with_the_end() -> None:
    """Their offset says where they stand, once or twice."""
    holder = await Holder().begin()
    holder.store.is_away = True
    await holder.write("Good morning")
    await asyncio.sleep(0.05)
    holder.store.is_away = False

    assert await holder.close("Good morning") == [(0, "Good morning")]


class Planned(Cluster):
    """Processes of an agent that follows a plan, and what the outside counts."""

    def __init__(self, plan: Plan = PLAN, **settings: str) -> None:
        self.counted, note = counting()
        super().__init__(lambda: planned_agent(note, plan), settings=settings)


@pytest.mark.moved_time
@pytest.mark.behaviour("journal.records-steps")
@pytest.mark.behaviour("hosting.raising-tool-logged")
async def test_each_step_is_recorded_as_it_ends_and_a_tool_call_before_it_begins(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The answer without tool calls is the run's own record; a tool that raises leaves its traceback in the log."""
    cluster = Planned()
    app = cluster.process()
    run_id = await app.run("go")

    kinds = [event.kind for event in await app.run_events(run_id)]
    assert Counter(kinds) == Counter(accepted=1, claimed=1, model_result=3, tool_started=5, tool_result=5, completed=1)
    assert kinds.index("tool_started") > kinds.index("model_result")
    assert list(cluster.counted.values()) == [1] * (len(PLAN) + 5)
    # What earlier tests left to the collector may be collected now, and log its errors.
    raised = [record.getMessage() for record in caplog.records if record.exc_info]
    assert [message for message in raised if run_id in message] == [f"Tool flaky of run {run_id} raised."]
    assert "in flaky" in caplog.text


@pytest.mark.moved_time
@pytest.mark.behaviour("journal.unknown-outcome-told")
@pytest.mark.behaviour("journal.interrupted-result")
@pytest.mark.parametrize(("setting", "kind", "when"), [("fail", "failed", "before"), ("tell", "completed", "after")])
async def test_each_call_that_was_cut_short_gets_a_result_that_says_so_once(setting: str, kind: str, when: str) -> None:
    """Before the run fails or the model is told; also where the process that appends it is killed there."""
    cluster = Planned((("add", "look"), "all done"), AGENT_INTERRUPTED_TOOLS=setting)
    app = cluster.process()
    run_id = await app.open("go")
    await killed_at(app, run_id, 2)
    await killed_at(cluster.process(), run_id, 2, when)

    app = cluster.process()
    await app.deliver(run_id)

    results = [event for event in await app.run_events(run_id) if isinstance(event, ToolResult)]
    assert [(event.key, event.interrupted) for event in results] == [("1.call-0-0", True), ("1.call-0-1", True)]
    assert (await app.terminal(run_id)).kind == kind
    assert not {"add", "look"} & set(cluster.counted)
    told = [message for entry in app.entries() for message in entry["messages"] if message["role"] == "tool"]
    assert ("may have done its work" in str(told)) == (setting == "tell")


def change_digests(cluster: Cluster, kind: str) -> None:
    """Have the steps of that kind be of something else, as where the code has changed since."""
    (thread,) = (thread for thread in cluster.memory.threads.values() if thread.events)
    for position, (append_id, payload) in thread.events.items():
        event = decode(payload)
        if event.kind == kind:
            thread.events[position] = append_id, encode(event.model_copy(update={"digest": "another"}))


@pytest.mark.moved_time
@pytest.mark.behaviour("journal.diverged")
@pytest.mark.parametrize(("kind", "step"), [("tool_started", "call 1.call-0-0"), ("model_result", "model call 1")])
async def test_an_attempt_that_does_something_else_ends_the_run(kind: str, step: str) -> None:
    """As where the code changed, or says something else each time; the sentence names the step."""
    cluster = Planned((("add",), ("look",), "all done"))
    app: AppProcess = cluster.process()
    run_id = await app.open("go")
    await killed_at(app, run_id, 4)
    change_digests(cluster, kind)

    app = cluster.process()
    await app.deliver(run_id)

    terminal = await app.terminal(run_id)
    assert isinstance(terminal, Failed)
    assert terminal.code == "run_diverged"
    assert step in terminal.detail
    assert set(cluster.counted.values()) == {1}
