"""One agent's entity over a thread's log in memory, with stores that a test takes away."""

from __future__ import annotations

import json
import math
import time
import uuid
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import Any

from agent_framework import AgentResponse, Content, Message

from hosting.core.agent.agent_loop import AgentLoop
from hosting.core.agent.held_run import read_run
from hosting.core.entity.thread_entity import ThreadEntity
from hosting.core.services import Services
from hosting.core.stores.archive import Archive, EndLoans, Lent, SumsOf, Volume, no_loans
from hosting.core.stores.memory import MemoryObjects, MemoryThreadStore
from hosting.core.stores.stores import Stores
from hosting.core.thread.commands import AcceptRun, Change, ResetThread
from hosting.core.thread.events import Accepted, Event, RunEvent, Terminal
from hosting.core.thread.run import Ended, Run
from hosting.core.thread.run_request import RunRequest
from hosting.core.thread_log import epoch_store_key
from hosting.errors import ArchiveUnavailableError, AttachmentsUnavailableError
from hosting.model_options import Declared
from hosting.names import Address, StoreKey, new_id
from hosting.options import AgentOptions, Reasoning, Retry
from hosting.plan import AgentPlan
from hosting.settings import read_settings
from tests.support.thread_stores import ArmedStore

HUB = "hub"
ADDRESS = Address.of("Joker", "t")
PLACE = epoch_store_key(HUB, ADDRESS, 0)
PATIENCE_SECONDS = 0.1
Work = Callable[[str], Awaitable[AgentResponse[Any]]]


class ArmedArchive(Archive):
    """A memory archive that a test takes away, or whose answers are lost; `puts` are the positions from and to."""

    def __init__(self) -> None:
        super().__init__(MemoryObjects())
        self.is_down = False
        self.loses_answers = False
        self.puts: list[tuple[int, int]] = []

    async def put(self, volume: Volume, first: int, entries: Sequence[str], sums: SumsOf | None = None) -> None:
        self._refuse_when_down()
        self.puts.append((first, first + len(entries) - 1))
        await super().put(volume, first, entries, sums)
        if self.loses_answers:
            raise ArchiveUnavailableError("the answer is lost")

    async def read(self, volume: Volume, first: int, last: int, lenders: Sequence[Lent] = ()) -> list[str]:
        self._refuse_when_down()
        return await super().read(volume, first, last, lenders)

    async def erase(self, place: StoreKey, before: int | None = None, end_loans: EndLoans = no_loans) -> int:
        self._refuse_when_down()
        return await super().erase(place, before, end_loans)

    def _refuse_when_down(self) -> None:
        if self.is_down:
            raise ArchiveUnavailableError("the archive is away")


class ArmedAttachments(MemoryObjects):
    """A memory store of attachments that a test takes away, and whose puts count as made `ago_seconds` ago."""

    def __init__(self) -> None:
        super().__init__(lambda: time.time() - self.ago_seconds)
        self.is_down = False
        self.ago_seconds = 0.0

    async def put(self, place: StoreKey, objects: Mapping[str, bytes]) -> None:
        self._refuse_when_down()
        await super().put(place, objects)

    async def read(self, place: StoreKey, names: Collection[str]) -> dict[str, bytes]:
        self._refuse_when_down()
        return await super().read(place, names)

    async def erase(self, place: StoreKey, names: Collection[str] | None = None, *, before: float = math.inf) -> None:
        self._refuse_when_down()
        await super().erase(place, names, before=before)

    def _refuse_when_down(self) -> None:
        if self.is_down:
            raise AttachmentsUnavailableError("the store is away")


class CountingAgent:
    """An agent of no framework class: it counts its runs, keeps what it was sent, and works as a test tells it."""

    name = "Joker"

    def __init__(self) -> None:
        self.seen: list[list[str]] = []
        self.work: Work = answer

    async def run(self, messages: list[Message], *, session: Any, **options: Any) -> AgentResponse[Any]:
        """Note the messages and work."""
        self.seen.append([message.text for message in messages])
        return await self.work(messages[-1].text)


async def answer(text: str) -> AgentResponse[Any]:
    """Answer as an echo."""
    return AgentResponse(messages=[Message("assistant", [Content.from_text(f"echo: {text}")])])


class Bench:
    """The entity of one thread as the engine drives it: deliver an operation, commit its state or lose it."""

    def __init__(
        self,
        agent: Any = None,
        environ: dict[str, str] | None = None,
        ttl_seconds: float | None = None,
        retry: Retry | None = None,
        working_seconds: float = math.inf,
        *,
        reasoning: Reasoning | None = None,
        model_options: Declared | None = None,
    ) -> None:
        """`working_seconds` is what the platform gives a batch."""
        self._working_seconds = working_seconds
        self.agent: Any = agent or CountingAgent()
        self.retry, self.reasoning, self.model_options = retry, reasoning, model_options
        self.store = ArmedStore(MemoryThreadStore(HUB))
        self.archive = ArmedArchive()
        self.attachments = ArmedAttachments()
        self.settings = read_settings(environ or {})
        self.loop = AgentLoop(tool_threads=2)
        self.ttl_seconds = ttl_seconds
        self.state: str | None = None
        self.restart()

    def restart(self) -> None:
        """Begin a new process: what was only known in memory is gone."""
        stores = Stores(HUB, self.store, self.archive, self.attachments)
        self.services = Services(
            stores,
            self.settings,
            self.loop,
            patience_seconds=PATIENCE_SECONDS,
            working_seconds=self._working_seconds,
        )
        options = AgentOptions(
            retry=self.retry,
            ttl_seconds=self.ttl_seconds,
            reasoning=self.reasoning,
            model_options=self.model_options,
        )
        planned = AgentPlan("Joker", self.agent, options)
        self.services.hold(planned, self.settings.run_timeout_seconds)
        self.entity = ThreadEntity(planned, self.services)

    async def open(
        self,
        message: str = "hi",
        run_id: str | None = None,
        *,
        streamed: bool = False,
        request: RunRequest | None = None,
        traceparent: str | None = None,
    ) -> str:
        """Have a run accepted on this thread and return its id; nobody holds it yet."""
        accepted = Accepted(
            at=time.time(),
            run_id=run_id or new_id(),
            agent="Joker",
            thread_id="t",
            fingerprint="print",
            request=request or RunRequest(message=message),
            streamed=streamed,
            traceparent=traceparent,
        )
        decided = await self.services.log.execute(ADDRESS, AcceptRun(accepted, self.settings.queue_limit))
        assert isinstance(decided.outcome, Change), decided.outcome
        return accepted.run_id

    async def deliver(
        self, value: object, *, commit: bool = True, name: str = "run", signal: bool = True, operation_id: str = ""
    ) -> Any:
        """Deliver one operation, a new one or that; return its result, or a refusal as `{"refused": reason}`."""
        named = operation_id or str(uuid.uuid4())
        operation = {"name": name, "input": json.dumps(json.dumps(value)), "isSignal": signal, "id": named}
        payload = {"self": {"name": "dafx-joker", "key": "t"}, "exists": self.state is not None, "state": self.state}
        answered = json.loads(await self.entity.handle(json.dumps({**payload, "batch": [operation]})))
        if commit:
            self.state = answered["entityState"] if answered["entityExists"] else None
        result = answered["results"][0]
        output = json.loads(result["result"])
        if result["isError"]:
            return {"refused": output}
        return output if signal or output is None else json.loads(output)

    async def signal(self, run_id: str, *, commit: bool = True) -> None:
        """Deliver the signal of a run that was accepted."""
        await self.deliver({"run_id": run_id, "logged": True}, commit=commit)

    async def run(self, message: str) -> str:
        """Take one whole turn and return its run's id."""
        run_id = await self.open(message)
        await self.signal(run_id)
        return run_id

    async def reset(self, *, commit: bool = True) -> int:
        """Have the conversation forgotten, and return at which position of the log."""
        decided = await self.services.log.execute(ADDRESS, ResetThread(time.time()))
        await self.deliver({"position": decided.head.reset_at}, name="reset", commit=commit)
        return decided.head.reset_at

    async def find_run(self, run_id: str) -> Run:
        """Return a run as the log has it."""
        run = await read_run(self.services.log, ADDRESS, run_id)
        assert isinstance(run, Run)
        return run

    async def terminal(self, run_id: str) -> Terminal:
        """Return the end of a run that has ended."""
        state = (await self.find_run(run_id)).state
        assert isinstance(state, Ended)
        return state.end

    async def run_events(self, run_id: str) -> list[Event]:
        """Return a run's events, oldest first."""
        events = await self.services.log.events(ADDRESS, 0)
        return [event for _, event in events if isinstance(event, RunEvent) and event.run_id == run_id]

    async def kinds(self, run_id: str) -> list[str]:
        """Return the kinds of a run's events, oldest first."""
        return [event.kind for event in await self.run_events(run_id)]

    def entries(self) -> list[dict[str, Any]]:
        """Return the stored conversation's entries."""
        return list(json.loads(self.state)["data"]["conversationHistory"]) if self.state else []

    def places(self) -> list[str]:
        """Return the runs that have a response in the conversation, in order."""
        return [entry["correlationId"] for entry in self.entries() if entry["$type"] == "response"]
