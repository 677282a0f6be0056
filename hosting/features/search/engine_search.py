"""Threads found by the app's own search engine, and its texts brought up to date.

Theory. The engine is handed what threads say now, when somebody searches or the timer comes, as the app's own index is.
Of a thread that goes on it gets the newer texts alone. What it finds is compared with the caller's own list of threads,
and shown as the thread's own log has it: so an engine that mixes owners up, or has kept a text too long, shows nothing
of it to anybody.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from msgspec.structs import replace

from hosting.core.archiving import ConversationReader
from hosting.core.stores.stores import Stores
from hosting.core.thread_log import ThreadLog, epoch_store_key
from hosting.core.thread_view import ThreadView
from hosting.core.threads import Threads
from hosting.core.turns import gathered
from hosting.errors import (
    ArchiveIncompleteError,
    ThreadDeletingError,
    UnknownThreadError,
    UnreadableStateError,
)
from hosting.features.search.engine import SearchEngine, SearchHit, SearchQuery, ThreadPlace, ThreadText
from hosting.features.search.handed import Handed, HandedTexts, Kept, OvertakenError, called, place_of
from hosting.features.search.index import WordIndex
from hosting.features.search.phrases import SearchedText, searched_text, snippet_with
from hosting.features.search.thread_words import TITLE, Extent, ThreadWords
from hosting.features.search.updates import IndexUpdates, answered
from hosting.http.verbs import ChangedThreads, FoundThread, FoundWords, Snippet, ThreadQuery
from hosting.listing import Window
from hosting.names import Address
from hosting.ports import EntityClient, read_utc
from hosting.principal import Caller
from state.attachments import Exchange
from state.conversation import response_text

MOST_HITS = 1000
"""So many texts are asked of the engine; the threads of those are all that is found."""
_PAGE = 100
_TRIES = 3
_OPENING = 160


class EngineIndex:
    """The texts of one app's threads in its engine, for one event loop."""

    def __init__(self, handed: HandedTexts, words: WordIndex, threads: Threads, stores: Stores) -> None:
        """`words` keeps whether agents' threads were ever searched."""
        self._handed, self._threads, self._stores = handed, threads, stores
        self.note_search = words.note_search

    async def updated(self, address: Address, mark: str, client: EntityClient) -> ThreadWords | None:
        """Return how far the engine has the thread, after it was handed what is new; see `TextIndex`.

        It is less far while another process hands texts over, or while the engine owes a removal.
        """
        kept = await self._handed.begun(address)
        for _ in range(_TRIES):
            if kept.handed.owed:
                if not await self._handed.pay(address):
                    return ThreadWords()
                kept = await self._handed.begun(address)
            if kept.handed.extent.mark == mark or self._handed.is_taken(kept.handed):
                break
            try:
                kept = await self._handed_over(address, mark, kept, client)
            except (UnknownThreadError, ThreadDeletingError):
                await self._handed.forget(address)
                return None
            except OvertakenError:
                kept = await self._handed.begun(address)
        return ThreadWords(kept.handed.extent)

    async def _handed_over(self, address: Address, mark: str, kept: Kept, client: EntityClient) -> Kept:
        """Hand over what is new of the thread. Raises `OvertakenError`.

        Each batch is recorded before it is sent, with the time until when it may come to the engine.
        """
        view = await self._threads.view(address, client)
        head, reader, place = view.head, self._reader(view), place_of(address)
        try:
            extent = await self._continued(kept.handed, view, reader)
            if extent is None:
                extent = Extent(epoch=head.epoch, reset_at=head.reset_at)
                if kept.handed.through >= 0:
                    taken = self._taken(kept.handed, extent=extent, title="")
                    kept = await self._handed.change(address, kept, taken)
                    await self._handed.remove(address, kept.handed.through)
            title, has_more = f"{head.name or head.title}\n{address.thread_id}", True
            texts = [] if title == kept.handed.title else [ThreadText(place, TITLE, title, head.changed_at)]
            while has_more:
                entries, has_more = await reader.page(Window(_PAGE, extent.position, None, False))
                has_more = has_more and bool(entries)
                texts += [_text_at(place, position, entry) for position, entry in entries if response_text(entry)]
                newest = max((text.position for text in texts), default=TITLE)
                if texts:
                    taken = self._taken(kept.handed, extent=extent, through=max(newest, kept.handed.through))
                    kept = await self._handed.change(address, kept, taken)
                    await self._handed.put(texts)
                for position, entry in entries[-1:]:
                    extent = replace(extent, position=position, run=entry.correlation_id or "")
                texts = []
        except (UnreadableStateError, ArchiveIncompleteError):  # nobody can read it, or it was reset meanwhile
            extent, title = Extent(epoch=head.epoch, reset_at=head.reset_at), kept.handed.title
        extent = replace(extent, mark=mark)
        return await self._handed.change(address, kept, replace(kept.handed, extent=extent, title=title, until=0.0))

    def _taken(self, handed: Handed, **changes: Any) -> Handed:
        """Return the value of a cell from which this process may call the engine now."""
        return replace(handed, until=self._handed.taken_until(), **changes)

    async def _continued(self, handed: Handed, view: ThreadView, reader: ConversationReader) -> Extent | None:
        """Return how far the engine has the thread surely; None where it has another life or other turns of it."""
        known, head = handed.extent, view.head
        if (known.epoch, known.reset_at) != (head.epoch, head.reset_at) or not known.position:
            return None
        entries, _ = await reader.page(Window(1, known.position - 1, known.position + 1, False))
        return known if [entry.correlation_id for _, entry in entries] == [known.run] else None

    def _reader(self, view: ThreadView) -> ConversationReader:
        store_key = epoch_store_key(self._stores.hub, view.address, view.head.epoch)
        return ConversationReader(store_key, view.conversation, self._stores.archive)


class EngineSearch(IndexUpdates):
    """The search of one app by its engine, for one event loop."""

    def __init__(self, engine: SearchEngine, index: EngineIndex, log: ThreadLog, threads: Threads) -> None:
        super().__init__(index, log, threads)
        self._engine = engine

    async def find(
        self, text: str, changed: Mapping[str, ChangedThreads], query: ThreadQuery, caller: Caller
    ) -> FoundWords:
        """Return the caller's threads that the engine finds, of those that `changed` has by agent, in its order.

        Raises `EngineUnavailableError`, `StoreUnavailableError` and `SearchUnavailableError`.
        """
        known, searched = await self._updated(changed, caller), searched_text(text)
        hits = await self._hits(text, searched, changed, caller)
        page, after = _page(hits, query)
        shown = await gathered(
            self._shown(hit, known[hit.thread.agent].threads.get(hit.thread.thread_id), searched, caller)
            for hit in page
        )
        return answered(changed, known, shown, after)

    async def _hits(
        self, text: str, searched: SearchedText, changed: Mapping[str, ChangedThreads], caller: Caller
    ) -> list[SearchHit]:
        """Return the best text of each of the caller's threads that the engine finds and the filter lets through."""
        if not searched.terms:
            return []
        wanted = SearchQuery(caller.owner, tuple(sorted(changed)), text, searched.terms, MOST_HITS)
        hits = await called("find", lambda: self._engine.find(wanted))
        best = dict[ThreadPlace, SearchHit]()
        for hit in hits if isinstance(hits, Sequence) else ():
            if isinstance(hit, SearchHit) and hit.thread.owner == caller.owner:
                of = changed.get(hit.thread.agent)
                change = None if of is None else of.threads.get(hit.thread.thread_id)
                if change is not None and change.passes:
                    best.setdefault(hit.thread, hit)
        return list(best.values())

    async def _shown(
        self, hit: SearchHit, indexed: ThreadWords | None, searched: SearchedText, caller: Caller
    ) -> FoundThread | None:
        """Return a thread with its head and snippet; None where the text is gone, or has not the phrases."""
        address = Address.of(hit.thread.agent, hit.thread.thread_id, caller.owner)
        if (head := await self._head(address, indexed)) is None:
            return None
        text = await self._text(address, head, hit.position, caller.client)
        if text is None or not searched.fits(f"{text}\n{address.thread_id}" if hit.position == TITLE else text):
            return None
        snippet = snippet_with(text, searched)
        if snippet is None and hit.position != TITLE:  # an engine may find what a text means
            snippet = Snippet("", "", " ".join(text[:_OPENING].split()))
        return FoundThread(address, head, snippet)


def _text_at(place: ThreadPlace, position: int, entry: Exchange) -> ThreadText:
    return ThreadText(place, position, response_text(entry), read_utc(entry.created_at or "") or 0.0)


def _page(hits: Sequence[SearchHit], query: ThreadQuery) -> tuple[Sequence[SearchHit], str | None]:
    """Return the hits after the page before, which ended with a thread: where it is now, or where it was."""
    number, agent, thread_id = [*(query.cursor or "").split("~", 2), "", "", ""][:3]
    places = [(quote(hit.thread.agent), quote(hit.thread.thread_id)) for hit in hits]
    first = int(number) if number.isascii() and number.isdecimal() and len(number) <= len(str(MOST_HITS)) else 0
    if (agent, thread_id) in places:
        first = places.index((agent, thread_id)) + 1
    page = hits[first : first + query.limit]
    last = first + len(page)
    return page, f"{last}~{places[last - 1][0]}~{places[last - 1][1]}" if last < len(hits) and page else None
