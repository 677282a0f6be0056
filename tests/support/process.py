"""A process of an app for tests: its runs over a log that others share, and a durable engine that takes signals.

The agent answers with an echo, once it is let go on: `gate` holds every answer back while it is closed.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Literal

from agent_framework import AgentResponse, AgentResponseUpdate, Content, Message

from hosting.core.absent_agents import AbsentAgents
from hosting.core.agent.agent_loop import AgentLoop
from hosting.core.agent.agent_runner import AgentRunner
from hosting.core.agent.deltas import BatchPace
from hosting.core.agent.hosted_agent import HostedAgent
from hosting.core.archiving import Archiver, Capacity
from hosting.core.broadcast import Broadcast
from hosting.core.care import Care, Pace
from hosting.core.conversations import CACHED_BYTES, Conversations
from hosting.core.deletion import ThreadDeletion
from hosting.core.document_writer import Attachments, DocumentWriter
from hosting.core.following import Following
from hosting.core.held_runs import MOST_HELD, HeldRuns
from hosting.core.hooks import AgentHooks, Listen, ThreadData
from hosting.core.promised_runs import PromisedRuns
from hosting.core.purging import Purging
from hosting.core.runs import Runs
from hosting.core.stores.memory import MemoryObjects, MemoryThreadStore, SharedMemory
from hosting.core.stores.stores import Stores
from hosting.core.thread.events import Terminal
from hosting.core.thread.run import Ended, Run
from hosting.core.thread.run_request import RunRequest, StartRun
from hosting.core.thread_log import ThreadLog, epoch_store_key
from hosting.core.thread_operations import GoOn, OperationOutcome, Store, ThreadOperations
from hosting.core.threads import Threads
from hosting.errors import EngineUnavailableError
from hosting.features.approvals.approvals import Approvals
from hosting.features.progress.feature import take
from hosting.names import Address, StoreKey
from hosting.ports import Clocks, EntityEnd, EntityPage, Purge, Wait, read_utc
from hosting.principal import Caller
from hosting.settings import read_settings
from state.codec import write
from tests.support.archives import memory_archive
from tests.support.thread_stores import ArmedStore

AGENT = "Echo"
ADDRESS = Address.of(AGENT, "t1")
LEASE_SECONDS = 0.3
MINUTE = Pace(first=60.0, longest=60.0)
"""Of one that reads a store once a minute where it is not woken."""
QUIET_SECONDS: Mapping[Any, float] = {"ended": 0.0, "missing": 60.0, "at work": 60.0}


class Engine:
    """The part of the durable engine that callers reach: it takes signals, or fails, and has no documents but these.

    `ends` are what entities left that have ended. `next_documents` are what the next reads find, before something else
    was stored. `before_purge` is awaited once, so that somebody else comes first. What an entity left is told after
    `answer_seconds`.
    """

    def __init__(self) -> None:
        self.signals: list[tuple[str, Any]] = []
        self.documents: dict[str, str] = {}
        self.ends: dict[str, EntityEnd] = {}
        self.archive = memory_archive()
        self.is_away = False
        self.has_no_documents_now = False
        self.gate = asyncio.Event()
        self.gate.set()
        self.reads = 0
        self.outcomes: dict[str, Purge] = {}
        self.purged: list[str] = []
        self.answer_seconds = 0.0
        self.before_purge: Callable[[], Awaitable[object]] | None = None
        self.next_documents: list[str] = []

    async def signal(self, entity: str, key: str, operation: str, value: object) -> None:
        """Take a signal, once the gate is open."""
        await asyncio.sleep(0)
        await self.gate.wait()
        if self.is_away:
            raise EngineUnavailableError("The durable engine cannot be reached.")
        self.signals.append((operation, value))

    async def read(self, entity: str, key: str) -> str | None:
        """Return a document."""
        self.reads += 1
        if self.has_no_documents_now:
            raise EngineUnavailableError("The durable engine cannot be reached.")
        return self.next_documents.pop(0) if self.next_documents else self.documents.get(key)

    async def ended(self, entity: str, key: str) -> EntityEnd | Literal["missing"] | None:
        """Return what an entity left that has ended."""
        if self.is_away:
            raise EngineUnavailableError("The durable engine cannot be reached.")
        await asyncio.sleep(self.answer_seconds)
        return None if key in self.documents else self.ends.get(key, "missing")

    async def list(
        self,
        entity: str,
        limit: int,
        cursor: str | None,
        changed_until: float | None = None,
        changed_from: float | None = None,
    ) -> EntityPage:
        """Return no threads."""
        return EntityPage((), None)

    async def purge(self, instance_id: str) -> Purge:
        """Purge an instance, with the outcome that a test chose, unless the engine is away."""
        await asyncio.sleep(0)
        if self.is_away:
            raise EngineUnavailableError("The durable engine cannot be reached.")
        before, self.before_purge = self.before_purge, None
        if before is not None:
            await before()
        self.purged.append(instance_id)
        self.ends.pop(instance_id.rpartition("@")[2], None)
        return self.outcomes.get(instance_id, "deleted")

    async def terminate(self, instance_id: str) -> None:
        """End nothing: it has no orchestrations."""
        raise EngineUnavailableError("There is no such instance.")


class ListedEngine(Engine):
    """An engine that knows when each entity changed; `asked` has since when it was asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.changed: dict[str, str] = {}
        self.asked: list[float | None] = []

    async def list(
        self,
        entity: str,
        limit: int,
        cursor: str | None,
        changed_until: float | None = None,
        changed_from: float | None = None,
    ) -> EntityPage:
        """Return those of the page that changed since; the limit counts before that."""
        if cursor is None:
            self.asked.append(changed_from)
        keys = sorted(key for key in self.changed if key > (cursor or ""))
        page = [
            (key, self.changed[key])
            for key in keys[:limit]
            if (read_utc(self.changed[key]) or 0) >= (changed_from or 0)
        ]
        return EntityPage(tuple(page), keys[limit - 1] if len(keys) > limit else None)


class EchoAgent:
    """Says what it was asked, word by word when streamed; it has answered the `turns` that it was given.

    It `asks` for approval of calls by these ids, once."""

    name = AGENT
    id = AGENT
    description = None

    def __init__(self) -> None:
        self.turns: list[list[str]] = []
        self.gate = threading.Event()
        self.fails: list[Exception] = []
        self.asks: list[str] = []
        self.gate.set()

    def run(self, messages: Any = None, *, stream: bool = False, session: Any = None, **options: Any) -> Any:
        """Answer, at once or in words."""
        texts = [message.text for message in messages]
        return self._words(texts) if stream else self._answer(texts)

    async def _answer(self, texts: list[str]) -> AgentResponse[Any]:
        await self._begin(texts)
        requested, self.asks = self.asks, []
        calls = [Content.from_function_call(call_id=name, name="pay", arguments="{}") for name in requested]
        requests = [Content.from_function_approval_request(str(call.call_id), call) for call in calls]
        contents = [*calls, *requests] or [Content.from_text(f"echo: {texts[-1]}")]
        return AgentResponse(messages=[Message("assistant", contents)])

    async def _words(self, texts: list[str]) -> Any:
        for word in ("echo:", f" {texts[-1]}"):
            yield AgentResponseUpdate(contents=[Content.from_text(word)], role="assistant")
            await asyncio.sleep(0.01)
        await self._begin(texts)

    async def _begin(self, texts: list[str]) -> None:
        self.turns.append(texts)
        while not await asyncio.to_thread(self.gate.wait, 0.005):
            pass
        if self.fails:
            raise self.fails.pop(0)


class Process:
    """One process of the app. Several share what `shared` holds, and their engine.

    It holds at most `most` runs, and remembers conversations of at most `cached_bytes`. Another agent than the one that
    echoes may be `run`; `holding` and `remembering` are what its holders and documents are made with besides, and
    `keeps` makes the data that a feature has of its threads.
    """

    def __init__(
        self,
        shared: SharedMemory,
        attachments: MemoryObjects,
        engine: Engine,
        *,
        most: int = MOST_HELD,
        cached_bytes: int = CACHED_BYTES,
        run: Any = None,
        batch_seconds: float = 0.02,
        holding: Mapping[str, Any] | None = None,
        remembering: Mapping[str, Any] | None = None,
        listen: Listen | None = None,
        keeps: Callable[[Stores], ThreadData] | None = None,
        **settings: str,
    ) -> None:
        self.agent = EchoAgent()
        self.engine = engine
        self.loop = AgentLoop(4)
        self.store = ArmedStore(MemoryThreadStore("hub", shared))
        self.log = ThreadLog(self.store, attachments, "hub", patience_seconds=0.2)
        self.changes = Broadcast()
        read = read_settings({"AGENT_RUN_TIMEOUT_SECONDS": "30", **settings})
        chosen: Any = run or self.agent
        runner = AgentRunner(chosen, AGENT, self.loop)
        agents = {
            AGENT.lower(): HostedAgent(
                runner,
                read,
                read.run_timeout_seconds,
                pace=BatchPace(batch_seconds, 4096),
                listen=listen,
                report=take,
            )
        }
        stores = Stores("hub", self.store, engine.archive, attachments)
        documents = Conversations(self.log, cached_bytes, **(remembering or {}))
        bounds: dict[str, Any] = {"most": most, "poll_seconds": 0.05, "lease_seconds": LEASE_SECONDS}
        self.conversations = documents
        self.holders = HeldRuns(self.log, documents, self.changes, agents, **{**bounds, **(holding or {})})
        self.care = Care(self.log, self.changes, self.holders, queue_seconds=read.queue_timeout_seconds)
        self.operations = ThreadOperations(
            self.log,
            documents,
            self.holders,
            self.care,
            watched_seconds=2.0,
            pace=Pace(0.01, 2.0, 2.0),
            margin_seconds=0.05,
        )
        self.following = Following(self.care, self.holders.draining, quiet_seconds=0.2)
        self.hooks: dict[str, AgentHooks] = {}
        self.promised = PromisedRuns(self.log, attachments, "hub", look_seconds=0.02)
        self.runs = Runs(self.log, self.holders, self.care, read, self.promised, hooks=self.hooks)
        self.approvals = Approvals(self.log, self.runs, self.holders, agents)
        writer = DocumentWriter(
            "hub",
            Capacity(read.state_limit_bytes, read.attachment_bytes),
            Archiver(engine.archive, read.document_bytes),
            Attachments(attachments, read.attachment_bytes),
        )
        thread_data = () if keeps is None else (keeps(stores),)
        self.stores, self.deletion = stores, ThreadDeletion(self.log, stores, agents, thread_data)
        absent = AbsentAgents(self.deletion, agents)
        self.purging = Purging(
            self.log,
            self.holders.draining,
            quiet_seconds=QUIET_SECONDS,
            is_absent=absent.has,
            thread_data=thread_data,
        )
        self.threads = Threads(
            self.log,
            documents,
            stores,
            self.holders,
            documents=writer,
            purging=self.purging,
            absent=absent,
            thread_data=thread_data,
        )
        self.attachments, self.archive = attachments, engine.archive

    @property
    def caller(self) -> Caller:
        """The app itself, for its own threads."""
        return Caller(self.engine)

    async def start(self, call: StartRun) -> Run:
        """Start a run of the agent as a caller asks, and return it."""
        return (await self.runs.start(AGENT, call, self.caller)).run

    async def deliver(self, run_id: str) -> OperationOutcome:
        """Have the thread's entity do its operation here, and commit what comes of it."""
        outcome = await self.operations.run(ADDRESS, self.engine.documents.get("t1"), run_id)
        stored = outcome.so_far if isinstance(outcome, GoOn) else outcome
        assert isinstance(stored, Store)
        self.engine.documents["t1"] = write(stored.snapshot.document(stored.head.epoch))
        return outcome

    async def end_of(self, run_id: str) -> Terminal | None:
        """Return how a run that the thread has ended, None while it has not."""
        run = await self.operations.find_run(ADDRESS, run_id)
        assert run is not None
        return run.state.end if isinstance(run.state, Ended) else None

    async def deliver_delete(self) -> None:
        """Have the thread's entity delete it here, and commit what comes of it."""
        if await self.deletion.delete(ADDRESS, self.engine.documents.get("t1")):
            self.engine.documents.pop("t1", None)
        if "t1" not in self.engine.documents and (end := await self.deletion.end(ADDRESS)) is not None:
            self.engine.ends["t1"] = end

    def log_at(self, wall: Callable[[], float]) -> ThreadLog:
        """Return the log as a process has it whose wall clock says this."""
        return ThreadLog(self.store, self.attachments, "hub", clocks=Clocks(wall))

    def place(self, epoch: int) -> StoreKey:
        """Return where the archive and the attachments of one life of the thread lie."""
        return epoch_store_key("hub", ADDRESS, epoch)

    def die(self) -> None:
        """End as a killed process does: nothing more is appended, and what it waited for is gone."""
        self.store.is_away = True
        self.agent.gate.set()

    async def kinds(self, address: Address = ADDRESS) -> list[str]:
        """Return the kinds of a thread's events, in order."""
        return [event.kind for _, event in await self.log.events(address, 0)]


def call(message: str = "hi", thread_id: str | None = "t1", *, waits: bool = True, **members: Any) -> StartRun:
    """Return what a caller asks."""
    return StartRun(
        request=RunRequest(message=message),
        thread_id=thread_id,
        wait=Wait(answer=waits),
        idempotency_key=members.pop("key", None),
        **members,
    )
