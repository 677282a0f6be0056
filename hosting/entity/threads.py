"""Threads as callers see them: listed, read, exported, reset, deleted. The entity is the one that writes them.

Theory. A stored conversation may be a moment behind its run log, because a run's record is written before its entity
commits. So whoever reads a thread is shown the stored conversation and then every run that has ended and is not in it
yet. Reset and delete are signals to the entity, queued behind its runs; each is done when the entity's own records say
so, never because the signal was sent. Source: turn.md, Records 10 and 11.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from hosting.app_stores import Stores
from hosting.entity.applying import request_of, with_run
from hosting.entity.attaching import attachments_of
from hosting.entity.receipt import Receipt, decode
from hosting.entity.settling import Settling
from hosting.entity.whole_conversation import Exchange, WholeConversation
from hosting.errors import ArchiveIncompleteError, ThreadDeletingError, UnknownThreadError, UnreadableStateError
from hosting.events import Place
from hosting.identity import new_id
from hosting.names import entity_name
from hosting.ports import EntityClient, EntityPage
from hosting.reply.bodies import Kept, KeptAttachment
from hosting.request.pages import Window
from hosting.run.runs import FIRST_POLL_SECONDS, LONGEST_POLL_SECONDS, POLL_GROWTH, Runs
from hosting.run_record import RunRecord
from state.archived import with_older
from state.codec import read, write
from state.conversation import applied
from state.errors import UnreadableStateError as UnreadableDocumentError
from state.models import Conversation

T = TypeVar("T")
JOIN_SECONDS = 5.0
RUNS_LOOKED_AT = 100
"""How many of a thread's newest runs are looked through for those that the conversation lacks: more than may wait."""


@dataclass(frozen=True)
class ThreadView:
    """One thread at a moment: what is stored, what that reads as with the runs that ended since, and its runs."""

    place: Place
    text: str | None
    conversation: Conversation
    runs: tuple[RunRecord, ...]


@dataclass(frozen=True)
class MessagesPage:
    """Entries of a conversation with their positions, and whether there are more in the direction asked for."""

    entries: list[tuple[int, Exchange]]
    has_more: bool


class Threads:
    """Reads threads and forgets them, for every surface."""

    def __init__(self, stores: Stores, runs: Runs) -> None:
        self._log = stores.log
        self._runs = runs
        self._settling = Settling(stores.log)
        self._archive = stores.archive
        self._attachments = stores.attachments

    async def page(self, agent: str, limit: int, cursor: str | None, client: EntityClient) -> EntityPage:
        """Return a page of the agent's threads. Raises `EngineUnavailableError`."""
        return await client.list(entity_name(agent), limit, cursor)

    async def view(self, agent: str, thread_id: str, client: EntityClient) -> ThreadView:
        """Return a thread.

        Raises `UnknownThreadError` when there is neither a conversation nor a run, `UnreadableStateError` when the
        stored text cannot be read, `EngineUnavailableError` and `LogUnavailableError`.
        """
        place = Place.of(agent, thread_id)
        text = await client.read(entity_name(agent), thread_id)
        runs = tuple(await self._log.runs_of(place, RUNS_LOOKED_AT))
        if text is None and not runs:
            raise _unknown(agent, thread_id)
        try:
            conversation = read(text)
        except UnreadableDocumentError as error:
            raise UnreadableStateError.because(error) from error
        return ThreadView(place, text, _with_ended(conversation, runs), runs)

    async def messages(self, agent: str, thread_id: str, window: Window, client: EntityClient) -> MessagesPage:
        """Return a window of the conversation. Raises as `view` does, and what the archive raises."""

        async def read_page(view: ThreadView) -> MessagesPage:
            return MessagesPage(*await WholeConversation(view.place, view.conversation, self._archive).page(window))

        return await self._read_whole(agent, thread_id, client, read_page)

    async def export(self, agent: str, thread_id: str, client: EntityClient) -> Kept:
        """Return everything that is kept about a thread, as JSON values. Raises as `messages` does."""

        async def read_all(view: ThreadView) -> Kept:
            older = await WholeConversation(view.place, read(view.text), self._archive).archived_texts()
            return exported(view, older, await attachments_of(view.place, self._attachments))

        return await self._read_whole(agent, thread_id, client, read_all)

    async def _read_whole(
        self, agent: str, thread_id: str, client: EntityClient, look: Callable[[ThreadView], Awaitable[T]]
    ) -> T:
        """Look at a thread and its archive; once more where the thread was reset or deleted between the two."""
        try:
            return await look(await self.view(agent, thread_id, client))
        except ArchiveIncompleteError:
            return await look(await self.view(agent, thread_id, client))

    async def runs(self, agent: str, thread_id: str, limit: int, client: EntityClient) -> list[RunRecord]:
        """Return the thread's newest runs; raises `UnknownThreadError` when there is neither one nor a conversation."""
        runs = await self._log.runs_of(Place.of(agent, thread_id), limit)
        if not runs and await client.read(entity_name(agent), thread_id) is None:
            raise _unknown(agent, thread_id)
        return runs

    async def reset(self, agent: str, thread_id: str, client: EntityClient, seconds: float) -> bool:
        """Have the conversation emptied; tell whether that is done, or still queued behind runs after `seconds`.

        Raises as `view` does, and `EngineUnavailableError` when the signal may not have been sent.
        """
        await self.view(agent, thread_id, client)
        reset_id = new_id()
        await client.signal(entity_name(agent), thread_id, "reset", {"id": reset_id})

        async def is_done() -> bool:
            return applied(read(await client.read(entity_name(agent), thread_id)), reset_id)

        return await _until(is_done, seconds)

    async def delete(self, agent: str, thread_id: str, client: EntityClient, seconds: float) -> bool:
        """Have the thread deleted, its runs cancelled first; tell whether that is done, as `reset` does.

        A thread that is not there is deleted already. Whoever deletes again while it goes on joins in. What the
        receipt names is purged once the thread is gone, and tried again each time.
        """
        place = Place.of(agent, thread_id)
        is_gone = await self._joined(place, client, seconds)
        if is_gone is None:
            is_gone = not await self._is_there(place, client) or await self._begun(place, client, seconds)
        if is_gone:
            await self._settling.settle(place, client)
        return is_gone

    async def receipt(self, agent: str, thread_id: str) -> Receipt:
        """Return the receipt of the thread's last deletion.

        Raises `ThreadDeletingError` while that goes on, `UnknownThreadError` when there was none.
        """
        mark = await self._log.deletion(Place.of(agent, thread_id))
        if mark is not None and mark.digest is None:
            raise ThreadDeletingError(f"Thread {thread_id[:80]!r} is being deleted. Ask again in a moment.")
        if mark is None or mark.receipt is None:
            raise UnknownThreadError(f"Agent {agent!r} has no receipt of a deletion of thread {thread_id[:80]!r}.")
        return decode(mark.receipt)

    async def _joined(self, place: Place, client: EntityClient, seconds: float) -> bool | None:
        """Tell whether a deletion that goes on has come to its end; None when there is none to join.

        It goes on until the entity has committed: its runs may be erased and its receipt written before. A deletion
        begun beside it would find less to delete, and its receipt would take the place of the true one. One that has
        erased the runs and does not end within `JOIN_SECONDS` counts as given up.
        """
        mark = await self._log.deletion(place)
        if mark is None or (mark.digest is not None and not await self._is_uncommitted(place, client)):
            return None
        if mark.digest is None:
            return await self._ended(place, mark.id, client, seconds)
        return await self._ended(place, mark.id, client, min(seconds, JOIN_SECONDS)) or None

    async def _begun(self, place: Place, client: EntityClient, seconds: float) -> bool:
        mark = await self._log.mark_deleting(place, new_id())
        return await self._ended(place, mark.id, client, seconds)

    async def _ended(self, place: Place, deletion_id: str, client: EntityClient, seconds: float) -> bool:
        """Have a deletion done that is marked; tell whether it is. A signal too many changes nothing."""
        for record in await self._log.runs_of(place, RUNS_LOOKED_AT):
            await self._runs.end_early(record)
        await client.signal(entity_name(place.agent), place.thread_id, "delete", {"id": deletion_id})

        async def is_done() -> bool:
            found = await self._log.deletion(place)
            if found is None or (found.id == deletion_id and found.digest is None):
                return False
            return not await self._is_uncommitted(place, client)

        return await _until(is_done, seconds)

    async def _is_uncommitted(self, place: Place, client: EntityClient) -> bool:
        """Tell whether the conversation is there without a run; with one, a new conversation has begun."""
        if await client.read(entity_name(place.agent), place.thread_id) is None:
            return False
        return not await self._log.runs_of(place, 1)

    async def _is_there(self, place: Place, client: EntityClient) -> bool:
        if await self._log.runs_of(place, 1):
            return True
        return await client.read(entity_name(place.agent), place.thread_id) is not None


def exported(view: ThreadView, older: Sequence[str], attachments: list[KeptAttachment]) -> Kept:
    """Return the stored document with the archived entries in their place, what it refers to, and the thread's runs, as
    JSON values."""
    return {
        "conversation": None if view.text is None else json.loads(write(with_older(read(view.text), older))),
        "attachments": attachments,
        "runs": [
            {
                "accepted": record.accepted.model_dump(mode="json"),
                "attempts": record.attempts,
                "steps": [step.model_dump(mode="json") for step in record.steps],
                "outcome": None if record.terminal is None else record.terminal.model_dump(mode="json"),
                "answers": [answer.model_dump(mode="json") for answer in record.answers],
            }
            for record in reversed(view.runs)
        ],
    }


def _with_ended(conversation: Conversation, runs: tuple[RunRecord, ...]) -> Conversation:
    for record in reversed(runs):
        if not applied(conversation, record.run_id):
            conversation = with_run(conversation, record, request_of(record.accepted, conversation)) or conversation
    return conversation


async def _until(is_done: Callable[[], Awaitable[bool]], seconds: float) -> bool:
    loop = asyncio.get_running_loop()
    end, pause = loop.time() + seconds, FIRST_POLL_SECONDS
    while not await is_done():
        if (left := end - loop.time()) <= 0:
            return False
        await asyncio.sleep(min(pause, left))
        pause = min(pause * POLL_GROWTH, LONGEST_POLL_SECONDS)
    return True


def _unknown(agent: str, thread_id: str) -> UnknownThreadError:
    return UnknownThreadError(f"Agent {agent!r} has no thread {thread_id[:80]!r}. The first run on it makes it.")
