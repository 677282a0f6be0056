"""One run of very many steps over a clock that a test moves: processes die, and the outside counts each step."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from agent_framework import Agent, ChatResponse, Message, UsageDetails

from hosting.core.agent.agent_loop import AgentLoop
from hosting.core.agent.held_run import read_run
from hosting.core.agent.time_limits import AttemptTimes, TimeLimit
from hosting.core.entity.batch import Batch, Operation
from hosting.core.entity.thread_entity import ThreadEntity, UnfinishedError
from hosting.core.hooks import NO_HOOKS, AgentHooks
from hosting.core.services import Services
from hosting.core.stores.archive import Archive
from hosting.core.stores.contract import Append, AppendOutcome, StoredHead, ThreadStore
from hosting.core.stores.memory import MemoryObjects, MemoryThreadStore
from hosting.core.stores.stores import Stores
from hosting.core.thread.commands import AcceptRun, Change
from hosting.core.thread.events import Accepted, Event
from hosting.core.thread.run import Run
from hosting.core.thread.run_request import RunRequest
from hosting.errors import StoreUnavailableError
from hosting.names import Address, new_id
from hosting.options import AgentOptions
from hosting.plan import AgentPlan
from hosting.ports import Clocks
from hosting.settings import read_settings
from hosting.tools import current, idempotent
from tests.support.answering import AnsweringClient, calls, says
from tests.support.clock import Clock
from tests.support.thread_stores import ArmedStore

HUB = "hub"
ADDRESS = Address.of("Joker", "t")
TOKENS_OF_CALL = 10


class StepsClient(AnsweringClient):
    """Calls the tool `step` so many times, one after the other, and then answers; the same work at each call."""

    steps: int = 0
    before: Callable[[int], Awaitable[None]] | None = None

    async def answer(self, messages: Sequence[Message], options: Mapping[str, Any]) -> ChatResponse[Any]:
        newest = messages[-1].contents[0]
        number = 1 if newest.type == "text" else int(str(newest.result)) + 1
        if self.before is not None:
            await self.before(number)
        usage = UsageDetails(input_token_count=TOKENS_OF_CALL, total_token_count=TOKENS_OF_CALL)
        content = "all done" if number > self.steps else calls("step", f"call-{number}", number=number)
        return says(content, usage=usage)


class SizedStore(ArmedStore):
    """A store that counts the bytes that are written: heads, events and rows."""

    def __init__(self, store: ThreadStore) -> None:
        super().__init__(store)
        self.written = 0

    async def append(self, address: Address, known: StoredHead | None, append: Append) -> AppendOutcome:
        self.written += append.size_bytes + len(append.head.payload)
        return await super().append(address, known, append)


class LongRun:
    """A run of so many steps, each of which takes `step_seconds` of a clock that it moves.

    `limit` has the times of runs and of attempts, if those are not given as `attempts`. `before` is awaited before each
    model call, and `at_step` in each call of the tool: both are told the number. `made` counts the calls by number. A
    tool that is `harmless` may be called twice.
    """

    def __init__(
        self,
        steps: int,
        limit: TimeLimit,
        *,
        step_seconds: float = 0.0,
        before: Callable[[int], Awaitable[None]] | None = None,
        at_step: Callable[[int], Awaitable[None] | None] = lambda number: None,
        attempts: AttemptTimes | None = None,
        harmless: bool = False,
        store: ThreadStore | None = None,
        hooks: AgentHooks = NO_HOOKS,
        environ: dict[str, str] | None = None,
    ) -> None:
        self.clock = Clock(time.time())
        self.limit, self.attempts = limit, attempts or limit.attempts
        self.made, self.keys = Counter[int](), set[str]()
        self.loop = AgentLoop(2)
        self.hooks = hooks
        self.settings = read_settings(environ or {})
        self.lasting = store or MemoryThreadStore(HUB)
        self.attachments, self.archive = MemoryObjects(), MemoryObjects()
        self.state: str | None = None
        self.operations = 0
        client = StepsClient(function_invocation_configuration={"max_iterations": steps + 1})
        client.steps, client.before = steps, before

        async def step(number: int) -> str:
            self.made[number] += 1
            self.keys.add(current().call_key)
            self.clock.now += step_seconds
            if (work := at_step(number)) is not None:
                await work
            return str(number)

        self.agent = Agent(client, name="Joker", tools=[idempotent(step) if harmless else step])
        self.restart()

    def restart(self) -> None:
        self.store = SizedStore(self.lasting)
        stores = Stores(HUB, self.store, Archive(self.archive), self.attachments)
        self.services = Services(
            stores,
            self.settings,
            self.loop,
            patience_seconds=0.05,
            working_seconds=self.limit.working_seconds,
            attempts=self.attempts,
            clocks=Clocks(self.clock, self.clock),
        )
        planned = AgentPlan("Joker", self.agent, AgentOptions())
        self.services.hold(planned, self.limit.of("Joker", None), self.hooks)
        self.entity = ThreadEntity(planned, self.services)

    def die(self) -> None:
        """End the process at once: nothing is appended by it any more."""
        self.store.is_away, self.store.failing_reads = True, 10**9

    async def accept(self) -> str:
        """Have the run accepted, and return its id; nobody holds it yet."""
        accepted = Accepted(
            at=self.clock(),
            run_id=new_id(),
            agent="Joker",
            thread_id="t",
            fingerprint="print",
            request=RunRequest(message="begin"),
        )
        decided = await self.services.log.execute(ADDRESS, AcceptRun(accepted, 32))
        assert isinstance(decided.outcome, Change)
        return accepted.run_id

    async def operate(self, run_id: str) -> bool:
        """Deliver the run's operation once, and commit what comes of it; return whether it sent itself on.

        A process that died in it is followed by another one, to which the operation is delivered again.
        """
        self.operations += 1
        order = {"run_id": run_id, "logged": True}
        batch = Batch(ADDRESS.thread_id, self.state, (Operation("run", order, is_signal=True),))
        try:
            answer = await self.entity.answer(batch)
        except StoreUnavailableError:
            answer = None
        if self.store.is_away or self.services.holders.draining.is_set():
            self.restart()
        if answer is None:
            return True
        self.state = answer.state
        return bool(getattr(answer.results[0], "signals", ()))

    async def call(self) -> Any:
        """Have an orchestration call the agent, and return what the entity answers it."""
        order = {"message": "begin", "correlationId": new_id()}
        batch = Batch(ADDRESS.thread_id, self.state, (Operation("run", order, is_signal=False),))
        while True:
            self.operations += 1
            with suppress(UnfinishedError):  # the engine delivers it again
                answer = await self.entity.answer(batch)
                return getattr(answer.results[0], "value", None)

    async def run(self) -> Run:
        """Have the run accepted and ended, by as many operations as it needs; return it."""
        run_id = await self.accept()
        while await self.operate(run_id):
            pass
        return await self.read(run_id)

    async def read(self, run_id: str) -> Run:
        run = await read_run(self.services.log, ADDRESS, run_id)
        assert isinstance(run, Run)
        return run

    async def events(self) -> list[Event]:
        """Return the thread's events, oldest first."""
        return [event for _, event in await self.services.log.events(ADDRESS, 0)]
