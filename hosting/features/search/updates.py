"""What a process knows of the index of threads' texts, and how it is brought up to date by whoever searches.

Theory. The overview says which threads there are and which change each had last. The texts of a thread are indexed up
to the change that they were made of, so whoever searches knows how many threads the index is behind. It brings them up
to date, waits for that no longer than for any list, and says in its answer what is missing. What goes on longer goes on
behind the answer, and the next search finds more of it.

What a process remembers of an index is a cache: a thread in an answer is compared with its own head, and one that was
deleted or reset since it was indexed is left out.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import suppress
from typing import Protocol

from msgspec import Struct

from hosting.core.recent import Recent
from hosting.core.thread.head import Head
from hosting.core.thread_log import ThreadLog
from hosting.core.threads import Threads
from hosting.errors import (
    ArchiveIncompleteError,
    ThreadDeletingError,
    UnknownThreadError,
    UnreadableStateError,
)
from hosting.features.search.thread_words import TITLE, Extent, ThreadWords
from hosting.http.verbs import ChangedThreads, FoundThread, FoundWords
from hosting.listing import Window
from hosting.names import APP, Address
from hosting.ports import EntityClient
from hosting.principal import Caller
from state.conversation import response_text

WAITED_SECONDS = 2.0
_AT_ONCE = 8
_CACHED_BYTES = 64 * 1024 * 1024
_THREAD_BYTES = 200

Place = tuple[str, str]
"""An agent, by its name in lower case, and an owner."""


class TextIndex(Protocol):
    """An index of threads' texts, which is kept by all processes of the app."""

    async def note_search(self, agent: str) -> None:
        """Keep that the app's own threads with the agent are searched. Raises `LogUnavailableError`."""

    async def updated(self, address: Address, mark: str, client: EntityClient) -> ThreadWords | None:
        """Return what is indexed of the thread, of the change with that mark or of another one; None if it is gone.

        Raises `EngineUnavailableError` and `StoreUnavailableError`.
        """


class PlaceWords(Struct):
    """The words of an owner's threads with an agent, by the threads' ids, as a process knows them."""

    threads: dict[str, ThreadWords]

    @property
    def memory_bytes(self) -> int:
        """About how much it takes."""
        return sum(_THREAD_BYTES + words.memory_bytes for words in self.threads.values())

    def behind(self, changed: ChangedThreads) -> list[str]:
        """Return the ids of threads with a change that their words do not have, the newest change first."""
        behind = [id_ for id_, change in changed.threads.items() if not self.has(id_, change.mark)]
        return sorted(behind, key=lambda id_: changed.threads[id_].at, reverse=True)

    def has(self, thread_id: str, mark: str) -> bool:
        """Return whether these are the words of the thread as of that change."""
        words = self.threads.get(thread_id)
        return words is not None and words.extent.mark == mark


class IndexUpdates:
    """The updates of one index, for one event loop."""

    def __init__(
        self, index: TextIndex, log: ThreadLog, threads: Threads, *, waited_seconds: float = WAITED_SECONDS
    ) -> None:
        """A search waits `waited_seconds` for the index."""
        self._index, self._log, self._threads = index, log, threads
        self._waited_seconds = waited_seconds
        self._known: Recent[Place, PlaceWords] = Recent(_CACHED_BYTES)
        self._updates: dict[Place, asyncio.Task[PlaceWords]] = {}

    async def update(self, agent: str, changed: ChangedThreads, caller: Caller) -> None:
        """Bring the words of the caller's threads with the agent up to date. Raises as `find` does."""
        await asyncio.shield(self._update((agent, caller.owner), changed, caller.client))

    async def close(self) -> None:
        """End what goes on behind answers: the next search continues it."""
        updates = list(self._updates.values())
        for update in updates:
            update.cancel()
        await asyncio.gather(*updates, return_exceptions=True)

    def forget(self, address: Address) -> None:
        """Remember no words of the thread."""
        known = self._known.get((address.agent, address.owner))
        if known is not None:
            known.threads.pop(address.thread_id, None)

    async def _updated(self, changed: Mapping[str, ChangedThreads], caller: Caller) -> dict[str, PlaceWords]:
        """Return the words by agent after an update, or before the end of one that takes long."""
        known = {agent: self._known.get((agent, caller.owner)) or PlaceWords({}) for agent in changed}
        updates = dict[str, asyncio.Task[PlaceWords]]()
        for agent, of in changed.items():
            if caller.owner == APP:
                await self._index.note_search(agent)
            if known[agent].behind(of):
                updates[agent] = self._update((agent, caller.owner), of, caller.client)
        if updates:
            await asyncio.wait(updates.values(), timeout=self._waited_seconds)
        for agent, update in updates.items():
            known[agent] = update.result() if update.done() else self._known.get((agent, caller.owner)) or known[agent]
        return known

    def _update(self, place: Place, changed: ChangedThreads, client: EntityClient) -> asyncio.Task[PlaceWords]:
        """Return the update that is under way, else a new one."""
        if (update := self._updates.get(place)) is None:
            update = self._updates[place] = asyncio.create_task(self._bring(place, changed, client))

            def ended(update: asyncio.Task[PlaceWords]) -> None:
                del self._updates[place]
                if not update.cancelled():
                    update.exception()  # whoever waits for it gets it

            update.add_done_callback(ended)
        return update

    async def _bring(self, place: Place, changed: ChangedThreads, client: EntityClient) -> PlaceWords:
        known = self._known.get(place) or PlaceWords({})
        for gone in known.threads.keys() - changed.threads.keys():
            del known.threads[gone]
        self._known.keep(place, known, known.memory_bytes)
        waiting = iter(known.behind(changed))

        async def work() -> None:
            for id_ in waiting:
                mark = changed.threads[id_].mark
                words = await self._index.updated(Address.of(place[0], id_, place[1]), mark, client)
                known.threads[id_] = ThreadWords(Extent(mark)) if words is None else words

        works = [asyncio.create_task(work()) for _ in range(_AT_ONCE)]
        try:
            await asyncio.gather(*works)
        finally:
            for task in works:
                task.cancel()
            self._known.keep(place, known, known.memory_bytes)
        return known

    async def _head(self, address: Address, words: ThreadWords | None) -> Head | None:
        """Return the head of a thread that is what was indexed; None for another life of it, and for one that is gone.

        Raises `LogUnavailableError`.
        """
        head = await self._log.head(address)
        if words is None or head.state != "open":
            return None
        return head if (words.extent.epoch, words.extent.reset_at) == (head.epoch, head.reset_at) else None

    async def _text(self, address: Address, head: Head, entry: int, client: EntityClient) -> str | None:
        """Return the text of that entry, or the title; None where there is none any more."""
        if entry == TITLE:
            return head.name or head.title
        async for _, text in self._texts(address, Window(1, entry - 1, entry + 1, False), client):
            return text
        return None

    async def _texts(self, address: Address, window: Window, client: EntityClient) -> AsyncIterator[tuple[int, str]]:
        """Yield the texts of a window of the conversation, with their positions, as long as it can be read.

        Raises `EngineUnavailableError` and `StoreUnavailableError`.
        """
        with suppress(UnknownThreadError, ThreadDeletingError, UnreadableStateError, ArchiveIncompleteError):
            has_more = True
            while has_more:
                page = await self._threads.messages(address, window, client)
                for position, entry in page.entries:
                    yield position, response_text(entry)
                has_more = page.has_more and bool(page.entries) and len(page.entries) < window.limit
                if has_more:  # the page had as many bytes as one may
                    last, left = page.entries[-1][0], window.limit - len(page.entries)
                    after, before = (window.after, last) if window.is_newest_first else (last, window.before)
                    window = Window(left, after, before, window.is_newest_first)


def answered(
    changed: Mapping[str, ChangedThreads],
    known: Mapping[str, PlaceWords],
    threads: Iterable[FoundThread | None],
    cursor: str | None,
) -> FoundWords:
    """Return an answer that says how far the index goes."""
    behind = [of.threads[id_].at for agent, of in changed.items() for id_ in known[agent].behind(of)]
    through = min((of.seen_until for of in changed.values()), default=0.0)
    found = tuple(thread for thread in threads if thread is not None)
    return FoundWords(found, cursor, len(behind), min([through, *behind]))
