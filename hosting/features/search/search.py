"""Threads found by words: of a caller's own threads, those with all of them, the newest change first.

Theory. The words of a thread say that it has all that are searched for. Phrases are looked for in the texts of these
threads alone, and in each from the newest entry that can have all words of the phrase. A search reads so many texts at
most, and its page ends there: the next one continues.
"""

from __future__ import annotations

import asyncio
import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from urllib.parse import quote, unquote

from msgspec import Struct

from hosting.core.turns import gathered
from hosting.features.search.phrases import Phrase, SearchedText, line_of, searched_text, snippet_with
from hosting.features.search.thread_words import TITLE, ThreadWords
from hosting.features.search.updates import IndexUpdates, PlaceWords, answered
from hosting.http.verbs import ChangedThreads, FoundThread, FoundWords, ThreadQuery
from hosting.listing import Window
from hosting.names import Address
from hosting.ports import EntityClient
from hosting.principal import Caller

MOST_READ = 2000
"""In so many entries of a thread a phrase is looked for, the newest that may have it; for a page in about as many."""
_READ_AT_ONCE = 8
_IN_A_ROW = 200

Key = tuple[float, str, str]
"""A thread's place in the list: its last change, negative, its agent and its id."""


class _Hit(Struct, frozen=True):
    """A thread, and the entry that is shown of it."""

    key: Key
    entry: int


class _Hits(Struct, frozen=True):
    """The hits of a page, and after which thread the next one continues."""

    hits: list[_Hit]
    after: Key | None


class ThreadSearch(IndexUpdates):
    """The search in the words of one app's threads, for one event loop."""

    async def find(
        self, text: str, changed: Mapping[str, ChangedThreads], query: ThreadQuery, caller: Caller
    ) -> FoundWords:
        """Return the caller's threads with all words and phrases of the text, of those that `changed` has by agent.

        Raises `EngineUnavailableError` and `StoreUnavailableError`.
        """
        known, searched = await self._updated(changed, caller), searched_text(text)
        keys = sorted(
            (-change.at, agent, id_)
            for agent, of in changed.items()
            for id_, change in of.threads.items()
            if change.passes
        )
        rest = keys[bisect_right(keys, _read_cursor(query.cursor)) :]
        page = await self._hits(rest, known, searched, query.limit, caller)
        shown = await gathered(self._shown(hit, known, searched, caller) for hit in page.hits)
        return answered(changed, known, shown, None if page.after is None else _write_cursor(page.after))

    async def _hits(
        self, keys: Sequence[Key], known: Mapping[str, PlaceWords], searched: SearchedText, limit: int, caller: Caller
    ) -> _Hits:
        """Return the first of these threads that have what is searched for."""
        hits, waiting, read = list[_Hit](), list[Key](), 0
        for number, key in enumerate(keys if searched.words else ()):
            if number % _IN_A_ROW == _IN_A_ROW - 1:
                await asyncio.sleep(0)  # others have their turn
            entry = _entry_of(known, key, searched)
            if entry is None:
                continue
            if not searched.phrases:
                hits.append(_Hit(key, entry))
            else:
                waiting.append(key)
                if len(waiting) == _READ_AT_ONCE:
                    read += await self._look(waiting, hits, known, searched, caller)
            if len(hits) > limit:
                return _Hits(hits[:limit], hits[limit - 1].key)
            if read >= MOST_READ:
                return _Hits(hits, key)
        await self._look(waiting, hits, known, searched, caller)
        return _Hits(hits[:limit], hits[limit - 1].key if len(hits) > limit else None)

    async def _look(
        self,
        waiting: list[Key],
        hits: list[_Hit],
        known: Mapping[str, PlaceWords],
        searched: SearchedText,
        caller: Caller,
    ) -> int:
        """Move those of the waiting threads that have the phrases to the hits; return how many entries were read."""
        looks = await gathered(self._with_phrases(key, known, searched, caller) for key in waiting)
        hits += [_Hit(key, entry) for key, (entry, _) in zip(waiting, looks, strict=True) if entry is not None]
        waiting.clear()
        return sum(read for _, read in looks)

    async def _with_phrases(
        self, key: Key, known: Mapping[str, PlaceWords], searched: SearchedText, caller: Caller
    ) -> tuple[int | None, int]:
        """Return the newest entry with a phrase, None unless all are there, and how many entries were read."""
        address, words = Address.of(key[1], key[2], caller.owner), known[key[1]].threads.get(key[2])
        head = await self._head(address, words)
        if words is None or head is None:
            return None, 0
        titled = (line_of(head.name or head.title), line_of(address.thread_id))
        entries, all_read = list[int](), 0
        for phrase in searched.phrases:
            entry, read = await self._newest(phrase, address, words, caller.client)
            all_read += read
            if entry is None and not any(phrase.line in line for line in titled):
                return None, all_read
            entries.append(entry or TITLE)
        return max(entries), all_read

    async def _newest(
        self, phrase: Phrase, address: Address, words: ThreadWords, client: EntityClient
    ) -> tuple[int | None, int]:
        """Return the newest entry with the phrase, and how many were read."""
        newest, read = words.last_with(phrase.words), 0
        async for position, text in self._texts(address, Window(MOST_READ, None, newest + 1, True), client):
            read += 1
            if await asyncio.to_thread(phrase.is_in, text):
                return position, read
        return None, read

    async def _shown(
        self, hit: _Hit, known: Mapping[str, PlaceWords], searched: SearchedText, caller: Caller
    ) -> FoundThread | None:
        """Return a thread with its head and snippet; None where it is not what the words were made of any more."""
        address, words = Address.of(hit.key[1], hit.key[2], caller.owner), known[hit.key[1]].threads.get(hit.key[2])
        if (head := await self._head(address, words)) is None:
            return None
        text = await self._text(address, head, hit.entry, caller.client)
        return FoundThread(address, head, None if text is None else snippet_with(text, searched))


def _entry_of(known: Mapping[str, PlaceWords], key: Key, searched: SearchedText) -> int | None:
    words = known[key[1]].threads.get(key[2])
    return None if words is None else words.entry_of(searched.words)


def _read_cursor(cursor: str | None) -> Key:
    """Return the thread after which a page begins; a cursor of another list begins at the first."""
    at, agent, thread_id = [*(cursor or "").split("~", 2), "", "", ""][:3]
    try:
        return float(at), unquote(agent), unquote(thread_id)
    except ValueError:
        return -math.inf, "", ""


def _write_cursor(key: Key) -> str:
    return f"{key[0]!r}~{quote(key[1])}~{quote(key[2])}"
