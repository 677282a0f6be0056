"""A thread of any length over real stores, made at once and not turn by turn: its document and its archive."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from agent_framework import Agent

from benchmarks.app.timed_model import TimedClient
from benchmarks.turns import WrongAnswerError
from hosting.agent.loop import AgentLoop
from hosting.app_stores import Stores
from hosting.archive.sqlite import SqliteArchive
from hosting.attachments.memory import MemoryAttachments
from hosting.entity.archiving import Archiving, document_of
from hosting.entity.entities import Entities
from hosting.entity.entity import AgentEntity
from hosting.entity.whole_conversation import WholeConversation
from hosting.events import Accepted, Place
from hosting.identity import new_id
from hosting.plan import Plan
from hosting.ports import Volume
from hosting.request.pages import Window
from hosting.requests import RunRequest
from hosting.runlog.log import RunLog
from hosting.runlog.sqlite import SqliteStore
from hosting.settings import Settings, read_settings
from state.archived import without_oldest
from state.codec import held_entry, read
from state.conversation import message_count
from state.models import History

AGENT, THREAD = "timed", "long"
PLACE = Place.of(AGENT, THREAD)
MESSAGE = ("The quick brown fox jumps over the lazy dog, and the dog asks it for the weather in Paris. " * 9)[:800]
_NEWEST = 1000
"""Entries that the document begins with, more than its budget holds."""

_MOVED_AT_ONCE = 48
"""Entries of that size in a quarter of the default budget."""


@dataclass(frozen=True)
class TurnTaken:
    """What one turn cost: seconds, bytes of the document that it read and of the one that it wrote, moves."""

    seconds: float
    document_bytes: int
    archive_calls: int


class CountedArchive(SqliteArchive):
    """An archive that counts its calls."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.calls = 0

    async def put(self, volume: Volume, first: int, entries: Sequence[str]) -> None:
        """Count, and put."""
        self.calls += 1
        await super().put(volume, first, entries)


class LongThread:
    """The thread and its entity, as the engine would drive it."""

    def __init__(self, entity: AgentEntity, log: RunLog, archive: CountedArchive, state: str) -> None:
        """`state` is the text of its document, as it stands."""
        self._entity = entity
        self._log = log
        self.state = state
        self._archive = archive

    async def turn(self) -> TurnTaken:
        """Take one turn on the thread and commit it."""
        run = Accepted(
            at=time.time(),
            run_id=new_id(),
            agent=AGENT,
            thread_id=THREAD,
            fingerprint="",
            request=RunRequest(message=MESSAGE),
        )
        await self._log.open(run)
        operation = {"name": "run", "input": json.dumps({"run_id": run.run_id, "logged": True}), "isSignal": True}
        batch = {"self": {"name": f"dafx-{AGENT}", "key": THREAD}, "exists": True, "state": self.state}
        payload = json.dumps({**batch, "batch": [operation]})
        calls, began = self._archive.calls, time.perf_counter()
        answered = json.loads(await self._entity.handle(payload))
        seconds = time.perf_counter() - began
        read_bytes, self.state = len(self.state), answered["entityState"]
        return TurnTaken(seconds, read_bytes + len(self.state), self._archive.calls - calls)

    async def page(self, after: int) -> float:
        """Return the seconds that a page of 50 entries after a position takes; WrongAnswerError for another page."""
        window = Window(limit=50, after=after, before=None, is_newest_first=False)
        began = time.perf_counter()
        entries, _ = await WholeConversation(PLACE, read(self.state), self._archive).page(window)
        seconds = time.perf_counter() - began
        if [position for position, _ in entries] != list(range(after + 1, after + 51)[: len(entries)]) or not entries:
            raise WrongAnswerError(f"A page after {after} of a long thread is not the page that was asked for.")
        return seconds

    @property
    def messages(self) -> int:
        """How many messages the conversation has."""
        return message_count(read(self.state))


@asynccontextmanager
async def long_thread(folder: Path, messages: int) -> AsyncIterator[LongThread]:
    """Make a thread of so many messages in files of the folder."""
    settings, loop = read_settings({}), AgentLoop(tool_threads=1)
    archive, log = CountedArchive(folder / "archive.sqlite"), RunLog(SqliteStore(folder / "runs.sqlite"))
    state = await _made(archive, settings, messages)
    planned = Plan().add(Agent(client=TimedClient(), name=AGENT), http=False, mcp=False)
    stores = Stores(log, archive, MemoryAttachments())
    entity = Entities(settings, loop, stores).of(planned, settings.run_timeout_seconds)
    yield LongThread(entity, log, archive, state)
    await log.close()
    await archive.close()
    loop.close()


async def _made(archive: CountedArchive, settings: Settings, messages: int) -> str:
    run_ids = [f"{number:032x}" for number in range(messages // 2)]
    texts = [text for run_id in run_ids for text in _turn(run_id)]
    older = max(0, len(texts) - _NEWEST)
    for first in range(0, older, _MOVED_AT_ONCE):
        await archive.put(Volume(PLACE, 0), first + 1, texts[first : min(older, first + _MOVED_AT_ONCE)])
    ledger = {"durableAgentHost": {"applied": run_ids[-256:]}}
    empty = {"schemaVersion": "1.1.0", "data": {"conversationHistory": [], "extensionData": ledger}}
    conversation = read(json.dumps(empty))
    whole = conversation.data.model_copy(update={"conversation_history": History(map(held_entry, texts))})
    recent = without_oldest(conversation.model_copy(update={"data": whole}), older)
    document = await Archiving(archive, settings.document_bytes).shorten(PLACE, document_of(recent))
    return document.text


def _turn(run_id: str) -> tuple[str, str]:
    shared = f'"correlationId":"{run_id}","createdAt":"2026-01-02T12:00:00.000000+00:00","messages":[{{"role":'
    usage = '"usage":{"inputTokenCount":200,"outputTokenCount":200,"totalTokenCount":400}'
    said = f'"contents":[{{"$type":"text","text":"{MESSAGE}"}}]'
    return (
        f'{{"$type":"request",{shared}"user",{said}}}],"responseType":"text"}}',
        f'{{"$type":"response",{shared}"assistant",{said},"authorName":"{AGENT}"}}],{usage}}}',
    )
