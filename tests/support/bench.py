"""One agent's entity over a real run log, with a clock that a test moves and a store that a test takes away."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import Any

from agent_framework import AgentResponse, Content, Message

from hosting.agent.loop import AgentLoop
from hosting.agent.runner import AgentRunner
from hosting.archive.memory import MemoryArchive
from hosting.attachments.memory import MemoryAttachments
from hosting.entity.archiving import Archiving
from hosting.entity.attaching import Attaching
from hosting.entity.capacity import Capacity
from hosting.entity.entity import AgentEntity
from hosting.entity.keeping import Keeping
from hosting.errors import ArchiveUnavailableError, AttachmentsUnavailableError, LogUnavailableError
from hosting.events import Accepted, Event, Place
from hosting.identity import new_id
from hosting.ports import Erased, Opening, Volume
from hosting.request.limits import limits_of
from hosting.requests import RunRequest
from hosting.retry import Retry
from hosting.run.turn import Turns
from hosting.run_record import RunRecord
from hosting.runlog.log import RunLog
from hosting.runlog.memory import MemoryStore
from hosting.settings import read_settings
from hosting.thread.events import Terminal
from state.attached import Attachment

NOW = 1_700_000_000.0
Work = Callable[[str], Awaitable[AgentResponse[Any]]]


class MovingClock:
    """Seconds that pass when a test says so."""

    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> float:
        return self.now


class ArmedStore(MemoryStore):
    """A memory store that a test takes away, and from which it can remove a run."""

    def __init__(self) -> None:
        super().__init__()
        self.is_down = False

    async def open(self, accepted: Accepted, receipt: str | None = None, most_open: int | None = None) -> Opening:
        self._refuse_when_down()
        return await super().open(accepted, receipt, most_open)

    async def append(self, run_id: str, *events: Event, after: int) -> bool:
        self._refuse_when_down()
        return await super().append(run_id, *events, after=after)

    async def read(self, run_id: str) -> RunRecord | Erased | None:
        self._refuse_when_down()
        return await super().read(run_id)

    async def events(self, run_id: str, after: int) -> tuple[Event, ...] | Erased | None:
        self._refuse_when_down()
        return await super().events(run_id, after)

    def remove(self, run_id: str) -> None:
        """Take a run's log away, as deleting its thread does."""
        del self._events[run_id]

    def told(self, run_id: str) -> list[Event]:
        """Return a run's events, oldest first."""
        return list(self._events[run_id])

    def kinds(self, run_id: str) -> list[str]:
        """Return the kinds of a run's events, oldest first."""
        return [event.kind for event in self._events[run_id]]

    def _refuse_when_down(self) -> None:
        if self.is_down:
            raise LogUnavailableError("the store is away")


class ArmedArchive(MemoryArchive):
    """A memory archive that a test takes away, or whose answers are lost; `puts` are the positions from and to."""

    def __init__(self) -> None:
        super().__init__()
        self.is_down = False
        self.loses_answers = False
        self.puts: list[tuple[int, int]] = []

    async def put(self, volume: Volume, first: int, entries: Sequence[str]) -> None:
        self._refuse_when_down()
        self.puts.append((first, first + len(entries) - 1))
        await super().put(volume, first, entries)
        if self.loses_answers:
            raise ArchiveUnavailableError("the answer is lost")

    async def read(self, volume: Volume, first: int, last: int) -> list[str]:
        self._refuse_when_down()
        return await super().read(volume, first, last)

    async def erase(self, place: Place, before: int | None = None) -> int:
        self._refuse_when_down()
        return await super().erase(place, before)

    def _refuse_when_down(self) -> None:
        if self.is_down:
            raise ArchiveUnavailableError("the archive is away")


class ArmedAttachments(MemoryAttachments):
    """A memory store of attachments that a test takes away."""

    def __init__(self) -> None:
        super().__init__()
        self.is_down = False

    async def put(self, place: Place, attachments: Collection[Attachment]) -> None:
        self._refuse_when_down()
        await super().put(place, attachments)

    async def read(self, place: Place, hashes: Collection[str]) -> dict[str, bytes]:
        self._refuse_when_down()
        return await super().read(place, hashes)

    async def erase(self, place: Place) -> None:
        self._refuse_when_down()
        await super().erase(place)

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
    ) -> None:
        self.agent: Any = agent or CountingAgent()
        self.retry = retry
        self.clock = MovingClock()
        self.store = ArmedStore()
        self.archive = ArmedArchive()
        self.attachments = ArmedAttachments()
        self.settings = read_settings(environ or {})
        self.loop = AgentLoop(tool_threads=2)
        self.ttl_seconds = ttl_seconds
        self.state: str | None = None
        self.restart()

    def restart(self) -> None:
        """Begin a new process: what was only known in memory is gone."""
        self.log = RunLog(self.store)
        runner = AgentRunner(self.agent, "Joker", self.loop, self.settings.context_tokens)
        capacity = Capacity("Joker", self.settings.state_limit_bytes)
        limits = limits_of(self.agent, self.settings)
        turns = Turns(runner, self.log, self.settings, self.clock, capacity, retry=self.retry, log_retry_seconds=())
        self.entity = AgentEntity(
            "Joker",
            turns,
            self.log,
            self.clock,
            keeping=Keeping(capacity, Archiving(self.archive, self.settings.document_bytes)),
            archive=self.archive,
            attaching=Attaching(self.attachments, self.settings.attachment_bytes),
            limits=limits,
            ttl_seconds=self.ttl_seconds,
        )

    async def open(self, message: str = "hi", run_id: str | None = None, *, streamed: bool = False) -> str:
        """Open the log of a run on this thread and return its id."""
        accepted = Accepted(
            at=self.clock.now,
            run_id=run_id or new_id(),
            agent="Joker",
            thread_id="t",
            fingerprint="print",
            request=RunRequest(message=message),
            streamed=streamed,
        )
        await self.log.open(accepted)
        return accepted.run_id

    async def deliver(self, value: object, *, commit: bool = True, name: str = "run", signal: bool = True) -> Any:
        """Deliver one operation; return its result, or the reason of its refusal as `{"refused": reason}`."""
        operation = {"name": name, "input": json.dumps(json.dumps(value)), "isSignal": signal, "id": "1"}
        payload = {"self": {"name": "dafx-joker", "key": "t"}, "exists": self.state is not None, "state": self.state}
        answered = json.loads(await self.entity.handle(json.dumps({**payload, "batch": [operation]})))
        if commit:
            self.state = answered["entityState"] if answered["entityExists"] else None
        result = answered["results"][0]
        said = json.loads(result["result"])
        if result["isError"]:
            return {"refused": said}
        return said if signal or said is None else json.loads(said)

    async def signal(self, run_id: str, *, commit: bool = True) -> None:
        """Deliver the signal of a run that has a log."""
        await self.deliver({"run_id": run_id, "logged": True}, commit=commit)

    async def run(self, message: str) -> str:
        """Take one whole turn and return its run's id."""
        run_id = await self.open(message)
        await self.signal(run_id)
        return run_id

    async def record(self, run_id: str) -> RunRecord:
        """Return a run as the store has it."""
        record = await self.store.read(run_id)
        assert record is not None
        return record

    async def terminal(self, run_id: str) -> Terminal:
        """Return the terminal record of a run that has ended."""
        terminal = (await self.record(run_id)).terminal
        assert terminal is not None
        return terminal

    def entries(self) -> list[dict[str, Any]]:
        """Return the stored conversation's entries."""
        return list(json.loads(self.state)["data"]["conversationHistory"]) if self.state else []

    def places(self) -> list[str]:
        """Return the runs that have a response in the conversation, in order."""
        return [entry["correlationId"] for entry in self.entries() if entry["$type"] == "response"]


class Signals:
    """A durable client that keeps what it was asked to send, or loses it."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, str, str, object]] = []
        self.is_lossy = False

    async def signal(self, entity: str, key: str, operation: str, value: object) -> None:
        """Keep the signal; a lossy client raises as a lost connection does."""
        if self.is_lossy:
            raise ConnectionError("a secret of the carrier")
        self.sent.append((entity, key, operation, value))
