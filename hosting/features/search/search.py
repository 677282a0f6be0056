"""Threads found by words: of a caller's own threads, those with all of them, the newest change first.

Theory. The overview says which threads there are and which change each had last. The words of a thread are good up to
the change that they were made of, so whoever searches knows how many threads the index is behind. It brings them up to
date, waits for that no longer than for any list, and says in its answer what is missing. What goes on longer goes on
behind the answer, and the next search finds more of it.

What a process remembers of words is a cache: a thread in an answer is compared with its own head, and one that was
deleted or reset since its words were made is left out.
"""

from __future__ import annotations

import asyncio
import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from contextlib import suppress
from urllib.parse import quote, unquote

from msgspec import Struct

from hosting.core.recent import Recent
from hosting.core.thread.head import Head
from hosting.core.thread_log import ThreadLog
from hosting.core.threads import Threads
from hosting.core.turns import gathered
from hosting.errors import (
    ArchiveIncompleteError,
    ThreadDeletingError,
    UnknownThreadError,
    UnreadableStateError,
)
from hosting.features.search.index import WordIndex
from hosting.features.search.thread_words import TITLE, Extent, ThreadWords
from hosting.features.search.words import SearchedWord, searched_words, snippet_of
from hosting.http.verbs import ChangedThreads, FoundThread, FoundWords, Snippet, ThreadQuery
from hosting.listing import Window
from hosting.names import APP, Address
from hosting.ports import EntityClient
from hosting.principal import Caller
from state.conversation import response_text

WAITED_SECONDS = 2.0
_AT_ONCE = 8
_CACHED_BYTES = 64 * 1024 * 1024
_IN_A_ROW = 200
_THREAD_BYTES = 200

Place = tuple[str, str]
"""An agent, by its name in lower case, and an owner."""
Key = tuple[float, str, str]
"""A thread's place in the list: its last change, negative, its agent and its id."""
Words = tuple[SearchedWord, ...]


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


class ThreadSearch:
    """The search of one app, for one event loop."""

    def __init__(
        self, index: WordIndex, log: ThreadLog, threads: Threads, *, waited_seconds: float = WAITED_SECONDS
    ) -> None:
        """A search waits `waited_seconds` for the index."""
        self._index, self._log, self._threads = index, log, threads
        self._waited_seconds = waited_seconds
        self._known: Recent[Place, PlaceWords] = Recent(_CACHED_BYTES)
        self._updates: dict[Place, asyncio.Task[PlaceWords]] = {}

    async def find(
        self, text: str, changed: Mapping[str, ChangedThreads], query: ThreadQuery, caller: Caller
    ) -> FoundWords:
        """Return the caller's threads with all words of the text, of those that `changed` has by agent.

        Raises `EngineUnavailableError` and `StoreUnavailableError`.
        """
        known, words = await self._updated(changed, caller), searched_words(text)
        keys = sorted(
            (-change.at, agent, id_)
            for agent, of in changed.items()
            for id_, change in of.threads.items()
            if change.passes
        )
        rest = keys[bisect_right(keys, _read_cursor(query.cursor)) :]
        hits = await self._hits(rest, known, words, query.limit)
        behind = [-of.threads[id_].at for agent, of in changed.items() for id_ in known[agent].behind(of)]
        through = min((of.seen_until for of in changed.values()), default=0.0)
        shown = await gathered(self._shown(key, known, words, caller) for key in hits[: query.limit])
        return FoundWords(
            tuple(found for found in shown if found is not None),
            _write_cursor(hits[query.limit - 1]) if len(hits) > query.limit else None,
            len(behind),
            min([through, *(-at for at in behind)]),
        )

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

    async def _hits(self, keys: Sequence[Key], known: Mapping[str, PlaceWords], words: Words, limit: int) -> list[Key]:
        """Return the first of these threads that have the words: one more than the limit, if there are so many."""
        hits = list[Key]()
        for number, key in enumerate(keys if words else ()):
            thread = known[key[1]].threads.get(key[2])
            if thread is not None and thread.entry_of(words) is not None:
                hits.append(key)
                if len(hits) > limit:
                    break
            if number % _IN_A_ROW == _IN_A_ROW - 1:
                await asyncio.sleep(0)  # others have their turn
        return hits

    async def _shown(
        self, key: Key, known: Mapping[str, PlaceWords], words: Words, caller: Caller
    ) -> FoundThread | None:
        """Return a thread with its head and snippet; None where it is not what the words were made of any more."""
        address, thread = Address.of(key[1], key[2], caller.owner), known[key[1]].threads.get(key[2])
        head = await self._log.head(address)
        if thread is None or head.state != "open":
            return None
        if (thread.extent.epoch, thread.extent.reset_at) != (head.epoch, head.reset_at):
            return None
        if (entry := thread.entry_of(words)) is None:
            return None
        return FoundThread(address, head, await self._snippet(address, head, entry, words, caller.client))

    async def _snippet(
        self, address: Address, head: Head, entry: int, words: Words, client: EntityClient
    ) -> Snippet | None:
        if entry == TITLE:
            return snippet_of(head.name or head.title, words)
        with suppress(UnknownThreadError, ThreadDeletingError, UnreadableStateError, ArchiveIncompleteError):
            page = await self._threads.messages(address, Window(1, entry - 1, entry + 1, False), client)
            for _, exchange in page.entries:
                return snippet_of(response_text(exchange), words)
        return None


def _read_cursor(cursor: str | None) -> Key:
    """Return the thread after which a page begins; a cursor of another list begins at the first."""
    at, agent, thread_id = [*(cursor or "").split("~", 2), "", "", ""][:3]
    try:
        return float(at), unquote(agent), unquote(thread_id)
    except ValueError:
        return -math.inf, "", ""


def _write_cursor(key: Key) -> str:
    return f"{key[0]!r}~{quote(key[1])}~{quote(key[2])}"
