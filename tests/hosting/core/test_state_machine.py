"""Whatever callers ask of two processes that die and come back: what is true of every thread, always and at last.

Hypothesis chooses the requests, and what happens to whom between any two of them. Nobody really waits (`MovedLoop`), so
an example of thirty requests is a fraction of a second. `--explore` tries ten times as many.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest
from agent_framework import Agent, Message
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from hosting.core.agent.agent_loop import RUN
from hosting.core.broadcast import LoggedEvent
from hosting.core.thread.events import (
    TERMINALS,
    Accepted,
    Claimed,
    Completed,
    Joined,
    ModelResult,
    RunEvent,
    ToolResult,
    ToolStarted,
)
from hosting.core.thread.run_request import StartRun
from hosting.errors import HostingError
from hosting.listing import Window
from state.contents import TextContent
from tests.support.cluster.charging import THINKING_SECONDS, charging_agent
from tests.support.cluster.cluster import AGENT, LEASE_SECONDS, AppProcess, Cluster, call
from tests.support.cluster.engine import Signal
from tests.support.cluster.life import DiedError
from tests.support.cluster.moved_loop import MovedLoop
from tests.support.seeds import repeated

THREADS = st.sampled_from(["red", "blue"])
PROCESSES = st.integers(0, 1)
TAKEN_OVER = st.floats(LEASE_SECONDS + 4, LEASE_SECONDS + 14)
"""After so many seconds another process has a run whose holder was cut off, or is at it, or is about to take it."""
ALL = Window(10_000, None, None, is_newest_first=False)

pytestmark = [
    pytest.mark.behaviour("service.promises", "service.runs-here", "service.steering", "service.delete"),
    pytest.mark.filterwarnings(
        "ignore:coroutine .* was never awaited", "ignore::pytest.PytestUnraisableExceptionWarning"
    ),
]


@dataclass
class Turn:
    """A message that somebody sent, by its name, which no other has; its run once that is known."""

    name: str
    thread: str
    asked: StartRun
    run_id: str | None = None


class Threads(RuleBasedStateMachine):
    """Two threads of one agent, and two processes."""

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner(loop_factory=MovedLoop)
        self.turns: list[Turn] = []
        self.faults: list[str] = []
        self.charged: Counter[str] = Counter()
        self.under_way: set[asyncio.Task[Any]] = set()
        self.delivering: set[str] = set()
        self.deleted: set[str] = set()
        self.approved: set[str] = set()
        self.carried = 0
        self.described: dict[str, set[int]] = {}

    @initialize(process=PROCESSES, seconds=TAKEN_OVER)
    def begin(self, process: int, seconds: float) -> None:
        """Begin with two processes, of which one stands while the other takes its run, and one that only looks on."""
        self.do(self._begin())
        self.cut_off("red", process, seconds, stands=True)

    async def _begin(self) -> None:
        self.cluster = Cluster(self.agent)
        self.processes = [self.cluster.process(), self.cluster.process()]
        self.observer = self.cluster.process()

    def agent(self) -> Agent[Any]:
        """Return the agent of one process."""
        return charging_agent(AGENT, self.asked, self.charged)

    async def asked(self, messages: Sequence[Message]) -> int:
        """Return how often the run was claimed; note if the model is asked again, or is told of another thread."""
        run_id = RUN.get()
        told = [message.text for message in messages if message.role == "user" and message.text]
        own = told[-1].split("-")[0]
        self.check(all(text.split("-")[0] == own for text in told), f"{own} is told {told}")
        accepted, *events = await self.observer.run_events(run_id, own)
        assert isinstance(accepted, Accepted)
        if not accepted.request.decisions:
            begins = [message.text for message in messages].index(accepted.request.message)
            shown = [message for message in messages[begins:] if message.role == "tool"]
            recorded = [event for event in events if event.kind == "model_result"]
            self.check(len(recorded) <= len(shown), f"{run_id} is asked again for what is recorded")
        return sum(isinstance(event, Claimed) for event in events)

    def check(self, is_so: bool, fault: str) -> None:
        """Note a fault: some are seen by tasks that nobody waits for."""
        if not is_so:
            self.faults.append(fault)

    def do(self, work: Coroutine[Any, Any, Any]) -> Any:
        """Return the result of work, and let all others have some turns."""

        async def done() -> Any:
            result = await work
            for _ in range(5):
                await asyncio.sleep(0)
            return result

        return self.runner.run(done())

    def ask(self, process: int, work: Callable[[AppProcess], Coroutine[Any, Any, Any]]) -> None:
        """Have a process work beside all others; it may die in the middle, and may refuse."""
        self.do(self._begun(self.processes[process], work))

    async def _begun(self, process: AppProcess, work: Callable[[AppProcess], Coroutine[Any, Any, Any]]) -> None:
        async def worked() -> None:
            try:
                await process.live(work(process))
            except (DiedError, HostingError):
                pass
            except Exception as error:
                self.faults.append(repr(error))

        self.begin_task(worked())

    def begin_task(self, work: Coroutine[Any, Any, None]) -> None:
        """Have something done beside the rules."""
        task = asyncio.ensure_future(work)
        self.under_way.add(task)
        task.add_done_callback(self.under_way.discard)

    @rule(
        thread=THREADS,
        process=PROCESSES,
        verb=st.sampled_from(["say", "charge", "charge", "pay"]),
        busy=st.sampled_from(["queue", "steer", "interrupt"]),
        waits=st.booleans(),
    )
    def start(self, thread: str, process: int, verb: str, busy: Any = "queue", waits: bool = True) -> None:
        """Send a message, and wait for its answer or not."""
        name = f"{thread}-{len(self.turns)}"
        turn = Turn(name, thread, call(f"{name} {verb}", thread, waits=waits, key=name, busy=busy))
        self.turns.append(turn)
        self.ask(process, lambda by: self._start(by, turn))

    async def _start(self, by: AppProcess, turn: Turn) -> None:
        run = await by.start(turn.asked)
        self.check(turn.run_id in (None, run.run_id) or turn.name in self.deleted, f"{turn} is two runs")
        turn.run_id = run.run_id
        if turn.asked.wait.answer:
            ended = await by.runs.wait_as(turn.asked.wait, run, by.engine)
            self.check(
                not isinstance(ended.end, Completed) or turn.name in str(ended.end.entry), f"{turn}: {ended.end}"
            )

    @rule(process=PROCESSES, data=st.data())
    def send_again(self, process: int, data: st.DataObject) -> None:
        """Send a message again, by its key: it is the same run."""
        if self.turns:
            turn = data.draw(st.sampled_from(self.turns))
            self.ask(process, lambda by: self._start(by, turn))

    @rule(process=PROCESSES, data=st.data())
    def follow(self, process: int, data: st.DataObject) -> None:
        """Follow a run: each event comes once, in its order, and the end is the last."""
        if self.turns:
            turn = data.draw(st.sampled_from(self.turns))
            self.ask(process, lambda by: self._follow(by, turn))

    async def _follow(self, by: AppProcess, turn: Turn) -> None:
        if turn.run_id is None:
            return
        run = await by.runs.find(by.address(turn.thread), turn.run_id, by.engine)
        by.store.before_events = partial(asyncio.sleep, 1.5 * THINKING_SECONDS)  # more is appended meanwhile
        told: list[LoggedEvent] = []
        async with aclosing(by.following.follow(run, by.engine)) as updates:
            async for news in updates:
                told += [update for update in news if isinstance(update, LoggedEvent)]
        positions = [update.position for update in told]
        self.check(positions == sorted(set(positions)), f"a follower is told {positions}")
        self.check(isinstance(told[-1].event, TERMINALS), f"a follower is told {told[-1]} last")
        logged = await self.observer.log.events(by.address(turn.thread), 0, through=positions[-1])
        own = [place for place, event in logged if isinstance(event, RunEvent) and event.run_id == turn.run_id]
        self.check(set(own) <= set(positions), f"a follower is told {positions} of {own}")

    @rule(thread=THREADS, process=PROCESSES, approved=st.booleans())
    def answer(self, thread: str, process: int, approved: bool) -> None:
        """Decide on what a thread waits for: only what was approved is paid."""
        self.ask(process, partial(self._answer, thread=thread, approved=approved))

    async def _answer(self, by: AppProcess, thread: str, approved: bool) -> None:
        path = f"/api/agents/{AGENT}/threads/{thread}/approvals"
        for waiting in (await by.http.get(path)).json().get("approvals", ()):
            if approved:
                self.approved.add(waiting["arguments"]["name"])
            await by.http.post(f"{path}/{waiting['id']}", json={"approved": approved})

    @rule(thread=THREADS, process=PROCESSES, approved=st.booleans())
    def pay(self, thread: str, process: int, approved: bool) -> None:
        """Ask for what needs an approval, and let two processes decide at once."""
        self.start(thread, process, "pay")
        self.sleep(60.0)
        self.answer(thread, process, approved)
        self.answer(thread, 1 - process, approved)

    @rule(thread=THREADS)
    def carry(self, thread: str) -> None:
        """Have an orchestration call the entity, twice: its episode is repeated."""
        self.carried += 1
        name = f"{thread}-carried{self.carried}"
        order = {"message": f"{name} say", "correlationId": name}
        self.cluster.engine.signals += [Signal(*self.observer.address(thread).entity, "run", order)] * 2

    @rule(process=PROCESSES, data=st.data())
    def cancel(self, process: int, data: st.DataObject) -> None:
        """Cancel a run."""
        if self.turns:
            turn = data.draw(st.sampled_from(self.turns))
            self.ask(process, lambda by: self._cancel(by, turn))

    async def _cancel(self, by: AppProcess, turn: Turn) -> None:
        if turn.run_id is not None:
            await by.runs.cancel(by.address(turn.thread), turn.run_id, by.engine)

    @rule(thread=THREADS, process=PROCESSES)
    def reset(self, thread: str, process: int) -> None:
        """Have a conversation forgotten."""
        self.ask(process, lambda by: by.threads.reset(by.address(thread), by.engine))

    @rule(thread=THREADS, process=PROCESSES, value=st.integers(0, 9))
    def describe(self, thread: str, process: int, value: int) -> None:
        """Give a thread metadata."""
        self.described.setdefault(thread, set()).add(value)
        self.ask(process, lambda by: by.threads.describe(by.address(thread), {"value": value}, by.engine))

    @rule(thread=THREADS, process=PROCESSES)
    def fork(self, thread: str, process: int) -> None:
        """Fork a thread; what the fork is told is of its origin."""
        path = f"/api/agents/{AGENT}/threads/{thread}/fork"
        self.ask(process, lambda by: by.http.post(path, json={}))

    @rule(thread=THREADS, process=PROCESSES)
    def delete(self, thread: str, process: int) -> None:
        """Delete a thread; the runs that were known before are gone once that is answered."""
        known = {turn.name for turn in self.turns if turn.thread == thread and turn.run_id is not None}
        self.ask(process, lambda by: self._delete(by, thread, known))

    async def _delete(self, by: AppProcess, thread: str, known: set[str]) -> None:
        if await by.threads.delete(by.address(thread), by.engine, 60.0):
            self.deleted |= known

    @rule(process=PROCESSES, is_committed=st.booleans())
    def deliver(self, process: int, is_committed: bool) -> None:
        """Have an entity do the first operation that waits; what it did may be lost before it is committed."""
        waiting = [signal for signal in self.cluster.engine.signals if signal.instance_id not in self.delivering]
        if waiting:
            self.do(self._deliver(self.processes[process], waiting[0], is_committed))

    async def _deliver(self, by: AppProcess, signal: Signal, is_committed: bool) -> None:
        async def delivered() -> None:
            self.delivering.add(signal.instance_id)
            try:
                await by.take(signal, commit=is_committed)
                if is_committed:
                    self.cluster.engine.signals.remove(signal)
            except (DiedError, HostingError):
                pass
            except Exception as error:
                self.faults.append(repr(error))
            finally:
                self.delivering.discard(signal.instance_id)

        self.begin_task(delivered())

    @rule(thread=THREADS, process=PROCESSES, seconds=st.sampled_from([1.0, 3.0, 5.0]))
    def kill_at_work(self, thread: str, process: int, seconds: float) -> None:
        """Kill a process while it asks the model, or charges; the other one goes on when its lease is out."""
        self.begin_to_charge(thread, process, seconds)
        self.processes[process].die()
        self.do(self._restart(process))
        self.take_over(1 - process)
        self.sleep(LEASE_SECONDS + 5)

    @rule(thread=THREADS, process=PROCESSES, seconds=TAKEN_OVER, stands=st.booleans())
    def cut_off(self, thread: str, process: int, seconds: float, stands: bool) -> None:
        """Have a process stand, or be without its store, until another one has its run, and may be at it still."""
        self.begin_to_charge(thread, process, THINKING_SECONDS / 2)
        by = self.processes[process]
        if stands:
            by.life.freeze()
        by.store.is_away = not stands
        self.take_over(1 - process)
        self.sleep(seconds)
        by.life.thaw()
        by.store.is_away = False
        self.sleep(THINKING_SECONDS)

    def begin_to_charge(self, thread: str, process: int, seconds: float) -> None:
        """Have a process begin a turn of several steps on a new thread, which both follow, and let so long pass.

        A process that is dead is replaced before.
        """
        for each, by in enumerate(self.processes):
            if by.life.is_over:
                self.do(self._restart(each))
        self.start(f"{thread}{len(self.turns)}", process, "charge")
        self.sleep(0.1)
        for each in (process, 1 - process):
            self.ask(each, partial(self._follow, turn=self.turns[-1]))
        self.sleep(seconds)

    def take_over(self, process: int) -> None:
        """Have a process asked for the newest turn, and its entity, which does it once its holder is gone."""
        turn = self.turns[-1]
        self.ask(process, partial(self._start, turn=turn))
        if turn.run_id is not None:
            order = {"run_id": turn.run_id, "logged": True}
            signal = Signal(*self.observer.address(turn.thread).entity, "run", order)
            self.cluster.engine.signals.append(signal)
            self.do(self._deliver(self.processes[process], signal, True))

    @rule(process=PROCESSES, steps=st.integers(1, 60))
    def kill_soon(self, process: int, steps: int) -> None:
        """Have a process die between two of its next steps; another begins when it is killed or replaced."""
        self.processes[process].life.end_after(steps)

    @rule(process=PROCESSES)
    def upgrade(self, process: int) -> None:
        """Replace a process by one of the next deployment: it is told to end, and hands on what it has."""
        by = self.processes[process]
        self.ask(process, lambda by: by.services.drain(1.0))
        self.do(asyncio.sleep(2.0))
        by.die()
        self.do(self._restart(process))

    async def _restart(self, process: int) -> None:
        self.processes[process] = self.cluster.process()

    @rule(seconds=st.sampled_from([0.5, THINKING_SECONDS, LEASE_SECONDS + 5, 120.0]))
    def sleep(self, seconds: float) -> None:
        """Let time pass, past the lease of a dead process, too."""
        self.do(asyncio.sleep(seconds))

    @invariant()
    def has_no_fault(self) -> None:
        """Nothing was seen that must not be."""
        assert self.faults == []
        assert not [name for name, count in self.charged.items() if count > 1]
        assert {name for name in self.charged if name.endswith("pay")} <= self.approved

    def teardown(self) -> None:
        """Let all come to its end, and look at what is there then."""
        try:
            if hasattr(self, "observer"):
                self.do(self._end())
                self.has_no_fault()
        finally:
            if hasattr(self, "cluster"):
                self.do(self.cluster.close())
            self.runner.close()

    async def _end(self) -> None:
        for process in self.processes:
            process.die()
        last = self.cluster.process()
        for _ in range(60):
            await asyncio.sleep(40.0)
            await last.services.promise_sweep(lambda: [AGENT]).run(last.engine)
            await self.cluster.deliver(last)
            if not self.under_way and not self.cluster.engine.signals:
                break
        for thread in {"red", "blue", *(turn.thread for turn in self.turns)}:
            await self._look(last, thread)

    async def _look(self, last: AppProcess, thread: str) -> None:
        """Note what is not as it must be at last: ends, the order of turns, and what was deleted."""
        address = last.address(thread)
        ends: dict[str, list[Any]] = {}
        queued: dict[str, str] = {}
        claims: Counter[str] = Counter()
        accepted: Counter[str] = Counter()
        recorded: Counter[str] = Counter()
        for _, event in await last.log.events(address, 0):
            if isinstance(event, Accepted):
                ends[event.run_id] = []
                queued[event.run_id] = event.request.message
                accepted[event.request.message or event.run_id] += 1
            if isinstance(event, Claimed):
                claims[event.run_id] += 1
            if isinstance(event, TERMINALS):
                ends[event.run_id].append(event)
            if isinstance(event, ModelResult):
                recorded[f"{event.run_id}: model call {event.number}"] += 1
            if isinstance(event, ToolStarted | ToolResult):
                recorded[f"{event.run_id}: {event.kind} {event.key}"] += 1
            if isinstance(event, Completed) and "of claim" in str(event.entry):
                is_own = f"of claim {claims[event.run_id]}." in str(event.entry)
                self.check(is_own, f"{event} is not of claim {claims[event.run_id]}")
            if isinstance(event, Joined):
                queued.pop(event.run_id)
        self.check(max(accepted.values(), default=1) == 1, f"{thread} accepted {accepted}")
        self.check(max(recorded.values(), default=1) == 1, f"{thread} has recorded {recorded}")
        promised = {turn.run_id for turn in self.turns}
        for run_id, found in ends.items():
            is_right = len(found) == 1 if run_id in promised else len(found) < 2
            self.check(is_right, f"{run_id} of {thread} has the ends {found}")
        order, metadata = list(queued.values()), (await last.log.head(address)).metadata
        is_known = not metadata or metadata["value"] in self.described.get(thread, ())
        self.check(is_known, f"{thread} has {metadata}, and was given {self.described}")
        try:
            page = await last.threads.messages(address, ALL, last.engine)
        except HostingError:
            return
        told = [
            content.text
            for _, entry in page.entries
            for message in entry.messages
            for content in message.contents
            if message.role == "user" and isinstance(content, TextContent) and content.text
        ]
        places = [order.index(text) for text in told if text in order]
        self.check(len(set(told)) == len(told), f"{thread} was told twice: {told}")
        self.check(all(text.startswith(f"{thread}-") for text in told), f"{thread} has {told}")
        self.check(not {text.split()[0] for text in told} & self.deleted, f"{told} is there, and was deleted")
        self.check(places == sorted(places), f"{thread} has {told}, and not the order {order}")


TestThreads = Threads.TestCase
TestThreads.settings = settings(
    max_examples=repeated(6, exploring=300),
    stateful_step_count=30,
    deadline=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)
