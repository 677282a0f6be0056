"""A thread of any length over real stores, made at once and not turn by turn: its document and its archive."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from agent_framework import Agent

from benchmarks.app.timed_model import TimedClient
from benchmarks.turns import WrongAnswerError
from hosting.core.agent.agent_loop import AgentLoop
from hosting.core.archiving import Archiver, ConversationReader, document_of
from hosting.core.entity.thread_entity import ThreadEntity
from hosting.core.services import Services
from hosting.core.stores.archive import Archive, SumsOf, Volume
from hosting.core.stores.memory import MemoryObjects
from hosting.core.stores.sqlite import SqliteThreadStore
from hosting.core.stores.sqlite_objects import ARCHIVE, SqliteObjects
from hosting.core.stores.sqlite_writer import StoreFile
from hosting.core.stores.stores import Stores
from hosting.core.thread.run_request import RunRequest, StartRun
from hosting.core.thread_log import epoch_store_key
from hosting.errors import ArchiveUnavailableError
from hosting.features.forks.forking import ForkCall, Forking, ForkPoint
from hosting.features.uploads.feature import UploadSettings, UploadsFeature
from hosting.listing import Window
from hosting.names import Address, StoreKey
from hosting.options import AS_THE_APP
from hosting.plan import Plan
from hosting.ports import EntityEnd, EntityPage, Purge, Wait
from hosting.principal import Caller
from hosting.settings import Settings, read_settings
from state.codec import parse_entry, read
from state.conversation import message_count, sums_before, without_oldest
from state.models import Conversation, Entries

HUB, AGENT, THREAD = "Measured", "timed", "long"
ADDRESS = Address.of(AGENT, THREAD)
PLACE = epoch_store_key(HUB, ADDRESS, 0)
MESSAGE = ("The quick brown fox jumps over the lazy dog, and the dog asks it for the weather in Paris. " * 9)[:800]
_NEWEST = 1000
"""Entries that the document begins with, more than its budget holds."""

_MOVED_AT_ONCE = 48
"""Entries of that size in a quarter of the default budget."""


@dataclass(frozen=True)
class TurnTaken:
    """What one turn cost until its document was stored: seconds, bytes of the document read and written, moves."""

    seconds: float
    document_bytes: int
    archive_calls: int


class CountedArchive(Archive):
    """An archive that counts its calls."""

    def __init__(self, path: Path) -> None:
        super().__init__(SqliteObjects(StoreFile(ARCHIVE, path, ArchiveUnavailableError)))
        self.calls = 0

    async def put(self, volume: Volume, first: int, entries: Sequence[str], sums: SumsOf | None = None) -> None:
        """Count, and put."""
        self.calls += 1
        await super().put(volume, first, entries, sums)


class ThreadEngine:
    """The durable engine of one thread: it keeps the document, and the signals until the entity is given them."""

    def __init__(self, state: str) -> None:
        """`state` is the text of the thread's document, as it stands."""
        self.state = state
        self.signals: list[tuple[str, object]] = []

    async def signal(self, entity: str, key: str, operation: str, value: object) -> None:
        """Keep a signal."""
        self.signals.append((operation, value))

    async def read(self, entity: str, key: str) -> str | None:
        """Return the document."""
        return self.state

    async def ended(self, entity: str, key: str) -> EntityEnd | None:
        """Know of no end: nobody here deletes."""
        return None

    async def list(
        self,
        entity: str,
        limit: int,
        cursor: str | None,
        changed_until: float | None = None,
        changed_from: float | None = None,
    ) -> EntityPage:
        """Name no entity: nobody here asks."""
        return EntityPage((), None)

    async def purge(self, instance_id: str) -> Purge:
        """Remove nothing."""
        return "missing"

    async def terminate(self, instance_id: str) -> None:
        """End nothing."""

    async def deliver(self, entity: ThreadEntity) -> None:
        """Give the entity each signal as a batch of its own, and commit the document that it answers with."""
        for name, value in self.signals:
            operation = {"name": name, "input": json.dumps(json.dumps(value)), "isSignal": True}
            batch = {"self": {"name": f"dafx-{AGENT}", "key": THREAD}, "exists": True, "state": self.state}
            answered = json.loads(await entity.handle(json.dumps({**batch, "batch": [operation]})))
            self.state = answered["entityState"]
        self.signals.clear()


class LongThread:
    """The thread in one process, which holds its runs and stores its document."""

    def __init__(self, services: Services, entity: ThreadEntity, engine: ThreadEngine, archive: CountedArchive) -> None:
        self._services = services
        self._entity = entity
        self._engine = engine
        self._archive = archive

    @property
    def state(self) -> str:
        """The text of the thread's document."""
        return self._engine.state

    async def turn(self) -> TurnTaken:
        """Take one turn on the thread as a caller that waits, and have its document stored."""
        call = StartRun(RunRequest(message=MESSAGE), THREAD, Wait())
        calls, read_bytes, began = self._archive.calls, len(self.state), time.perf_counter()
        client: Any = self._engine  # of the engine a turn takes the entities alone
        started = await self._services.runs.start(AGENT, call, Caller(client))
        run = await self._services.runs.wait_as(call.wait, started.run, self._engine)
        if run.end is None or run.end.kind != "completed":
            raise WrongAnswerError(f"A turn of a long thread ended as {run.end!r}.")
        await self._engine.deliver(self._entity)
        seconds = time.perf_counter() - began
        return TurnTaken(seconds, read_bytes + len(self.state), self._archive.calls - calls)

    async def page(self, after: int) -> float:
        """Return the seconds that a page of 50 entries after a position takes; WrongAnswerError for another page."""
        window = Window(limit=50, after=after, before=None, is_newest_first=False)
        began = time.perf_counter()
        entries, _ = await ConversationReader(PLACE, read(self.state), self._archive).page(window)
        seconds = time.perf_counter() - began
        if [position for position, _ in entries] != list(range(after + 1, after + 51)[: len(entries)]) or not entries:
            raise WrongAnswerError(f"A page after {after} of a long thread is not the page that was asked for.")
        return seconds

    async def fork(self, entries: int) -> float:
        """Return the seconds that a fork with so many entries takes; raises as `Forking.fork` does."""
        wanted, services = ForkCall(ForkPoint(entries, before=False), None, None), self._services
        settings: dict[str, Any] = {}
        files = UploadsFeature(services, UploadSettings(**settings))
        parts = (services.log, services.threads, services.archiver, services.attachments, services.stores)
        forking = Forking(*parts, files=files)
        began = time.perf_counter()
        await forking.fork(ADDRESS, wanted, self._engine)  # type: ignore[arg-type]  # nothing is made ready for search
        seconds = time.perf_counter() - began
        self._engine.signals.clear()  # the engine is of this thread alone
        return seconds

    @property
    def messages(self) -> int:
        """How many messages the conversation has."""
        return message_count(read(self.state))


@asynccontextmanager
async def long_thread(folder: Path, messages: int) -> AsyncIterator[LongThread]:
    """Make a thread of so many messages in files of the folder."""
    settings, loop = read_settings({}), AgentLoop(tool_threads=1)
    archive, threads = CountedArchive(folder / "archive.sqlite"), SqliteThreadStore(folder / "threads.sqlite", HUB)
    engine = ThreadEngine(await made_thread(archive, PLACE, settings, messages))
    planned = Plan().add(Agent(client=TimedClient(), name=AGENT), AS_THE_APP)
    stores = Stores(HUB, threads, archive, MemoryObjects())
    services = Services(stores, settings, loop)
    services.hold(planned, settings.run_timeout_seconds)
    entity = ThreadEntity(planned, services)
    yield LongThread(services, entity, engine, archive)
    await services.drain(0)
    await services.close()
    loop.close()


async def made_thread(archive: Archive, place: StoreKey, settings: Settings, messages: int) -> str:
    """Return the document of a thread of so many messages, whose older ones are put into the archive at `place`."""
    run_ids = [f"{number:032x}" for number in range(messages // 2)]
    texts = [text for run_id in run_ids for text in _turn(run_id)]
    ledger = {"durableAgentHost": {"applied": run_ids[-256:]}}
    empty = {"schemaVersion": "1.1.0", "data": {"conversationHistory": [], "extensionData": ledger}}
    conversation = read(json.dumps(empty))
    older = max(0, len(texts) - _NEWEST)
    for first in range(0, older, _MOVED_AT_ONCE):
        moved = texts[first : min(older, first + _MOVED_AT_ONCE)]
        conversation = _with(conversation, moved)
        await archive.put(Volume(place, 0), first + 1, moved, partial(sums_before, conversation))
        conversation = without_oldest(conversation, len(moved))
    recent = _with(conversation, texts[older:])
    document = await Archiver(archive, settings.document_bytes).shorten(place, document_of(recent))
    return document.text


def _with(conversation: Conversation, texts: Sequence[str]) -> Conversation:
    data = conversation.data.model_copy(update={"conversation_history": Entries(map(parse_entry, texts))})
    return conversation.model_copy(update={"data": data})


def _turn(run_id: str) -> tuple[str, str]:
    shared = f'"correlationId":"{run_id}","createdAt":"2026-01-02T12:00:00.000000+00:00","messages":[{{"role":'
    usage = '"usage":{"inputTokenCount":200,"outputTokenCount":200,"totalTokenCount":400}'
    output = f'"contents":[{{"$type":"text","text":"{MESSAGE}"}}]'
    return (
        f'{{"$type":"request",{shared}"user",{output}}}],"responseType":"text"}}',
        f'{{"$type":"response",{shared}"assistant",{output},"authorName":"{AGENT}"}}],{usage}}}',
    )
