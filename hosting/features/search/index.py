"""The stored words of threads: a cell for each thread, brought up to date, and erased with what it was made of.

Theory. The cell of a thread is read before the thread is, and written only if it is still the very one. Whoever erases
a thread's words says first, in the thread's log, that they are to go, and removes the cell then. So of a process that
reads the thread at that moment one of two things is true: it finds the thread gone, or its append finds the cell gone.
For that a thread without a cell gets an empty one before it is read. Nothing has to be remembered, whichever process
dies, and nobody waits for another.

A turn writes nothing here: who searches reads the threads that changed since.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from msgspec import Struct

from hosting.core.archiving import ConversationReader
from hosting.core.cells import Cell, CellKind, Cells
from hosting.core.stores.contract import Append, Appended, StoredHead
from hosting.core.stores.stores import Stores
from hosting.core.thread_log import epoch_store_key
from hosting.core.thread_view import ThreadView
from hosting.core.threads import Threads
from hosting.errors import ArchiveIncompleteError, ThreadDeletingError, UnknownThreadError, UnreadableStateError
from hosting.features.search.thread_words import NOTHING, Extent, ThreadWords, read_words, words_of_thread
from hosting.listing import Window
from hosting.names import APP, Address, new_id
from hosting.ports import EntityClient
from hosting.words import words_of
from state.attachments import Exchange
from state.conversation import response_text

_PAGE = 100
_TRIES = 3
_WORDS: CellKind[None] = CellKind("search", "words", lambda stored: None, lambda value: None)
_SEARCHED: CellKind[bool] = CellKind(
    "searched", "app", lambda stored: stored is not None, lambda value: b"1" if value else None
)
"""Whether the app's own threads with an agent were ever searched: a timer looks through those then."""


def cell_of(address: Address) -> Cell[None]:
    """Return the cell with the words of a thread."""
    return Cell(_WORDS, address.agent, address.owner, address.thread_id)


class _Stored(Struct, frozen=True):
    head: StoredHead
    words: ThreadWords


class WordIndex:
    """The words of the threads of one app, for one event loop.

    Each method raises `LogUnavailableError`.
    """

    def __init__(self, cells: Cells, threads: Threads, stores: Stores) -> None:
        self._cells, self._threads, self._stores = cells, threads, stores
        self._searched = set[str]()

    async def is_searched(self, agent: str) -> bool:
        """Return whether the app's own threads with the agent were ever searched."""
        return await self._cells.read(Cell(_SEARCHED, agent, APP))

    async def note_search(self, agent: str) -> None:
        """Keep that they are."""
        if agent not in self._searched:
            await self._cells.change(Cell(_SEARCHED, agent, APP), lambda _: True)
            self._searched.add(agent)

    async def read(self, address: Address) -> ThreadWords:
        """Return the thread's words as they are stored."""
        stored = await self._read(cell_of(address))
        return NOTHING if stored is None else stored.words

    async def updated(self, address: Address, mark: str, client: EntityClient) -> ThreadWords | None:
        """Return the thread's words as of the change with that mark, or of a later one; None for a thread that is gone.

        Where others write at the same moment, it may be what they wrote, of an earlier change. Raises
        `EngineUnavailableError` and `ArchiveUnavailableError` too.
        """
        cell, words = cell_of(address), NOTHING
        for _ in range(_TRIES):
            stored = await self._read(cell)
            if stored is None:
                stored = await self._begun(cell)
            words = stored.words
            if words.extent.mark == mark:
                return words
            try:
                newer = await self._newer(address, mark, words, client)
            except (UnknownThreadError, ThreadDeletingError):
                await self._cells.remove(cell)
                return None
            if await self._append(cell, stored, newer):
                return newer
        return words

    async def erase(self, address: Address) -> None:
        """Remove the thread's words. Of a thread that lives, the next search brings those that it has by then."""
        await self._cells.remove(cell_of(address))

    async def erase_all(self, agent: str, owner: str) -> None:
        """Remove the words of all threads of an owner with an agent; not of the owner `app`."""
        for thread_id in await self._cells.siblings(Cell(_WORDS, agent, owner)):
            await self.erase(Address.of(agent, thread_id, owner))

    async def _read(self, cell: Cell[None]) -> _Stored | None:
        missed: StoredHead | None = None
        while (head := await self._cells.head(cell)) is not None:
            words = read_words(head.payload)
            if not words.extent.chunks:
                return _Stored(head, words)
            begins, count = words.extent.begins, words.extent.chunks
            events = await self._cells.store.events(cell.address, begins, begins + count)
            if len(events) == count:
                spoken = b"".join(event.payload for event in events)
                return _Stored(head, ThreadWords(words.extent, words.titled, spoken))
            if head == missed:  # its events are erased: who did that is about to remove it, or has died
                return _Stored(head, NOTHING)
            missed = head
        return None

    async def _begun(self, cell: Cell[None]) -> _Stored:
        """Return the empty cell of a thread that had none, or what others put there first."""
        payload, _ = NOTHING.stored(0)
        outcome = await self._cells.append(cell, None, Append(StoredHead(0, new_id(), payload)))
        if isinstance(outcome, Appended):
            return _Stored(outcome.head, NOTHING)
        return await self._read(cell) or await self._begun(cell)

    async def _append(self, cell: Cell[None], stored: _Stored, newer: ThreadWords) -> bool:
        """Write the words in place of those that are stored; return False where others came first."""
        before = stored.head.position
        payload, events = newer.stored(before)
        append = Append(StoredHead(before + len(events), new_id(), payload), events)
        outcome = await self._cells.append(cell, stored.head, append)
        if not isinstance(outcome, Appended):
            return False
        if before:  # also what a process left that died here
            await self._cells.store.erase(cell.address, before)
        return True

    async def _newer(self, address: Address, mark: str, words: ThreadWords, client: EntityClient) -> ThreadWords:
        """Return the words of the thread as it is now: of its newer entries, and those before where they still hold."""
        try:
            view = await self._threads.view(address, client)
            spoken, extent = await self._spoken(view, words)
            head = view.head
        except (UnreadableStateError, ArchiveIncompleteError):  # nobody can read it, or it was reset meanwhile
            return words_of_thread(Extent(mark), "", {})
        extent = Extent(mark, head.epoch, head.reset_at, extent.position, extent.run)
        return words_of_thread(extent, f"{head.name or head.title}\n{address.thread_id}", spoken)

    async def _spoken(self, view: ThreadView, words: ThreadWords) -> tuple[dict[str, int], Extent]:
        store_key = epoch_store_key(self._stores.hub, view.address, view.head.epoch)
        reader = ConversationReader(store_key, view.conversation, self._stores.archive)
        known, head = words.extent, view.head
        spoken, after = dict[str, int](), 0
        if known.position and (known.epoch, known.reset_at) == (head.epoch, head.reset_at):
            entries, _ = await reader.page(Window(1, known.position - 1, known.position + 1, False))
            if [entry.correlation_id for _, entry in entries] == [known.run]:  # else it was rewound
                spoken, after = words.positions(), known.position
        newest, has_more = (known if after else Extent()), True
        while has_more:
            entries, has_more = await reader.page(Window(_PAGE, after, None, False))
            await asyncio.to_thread(_add_words, spoken, entries)  # many words take their time
            for position, entry in entries[-1:]:
                newest = Extent(position=position, run=entry.correlation_id or "")
            has_more, after = has_more and bool(entries), newest.position
        return spoken, newest


def _add_words(words: dict[str, int], entries: Sequence[tuple[int, Exchange]]) -> None:
    for position, entry in entries:
        words.update(dict.fromkeys(words_of(response_text(entry)), position))
