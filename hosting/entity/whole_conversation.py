"""A conversation as its readers see it: one list of entries, wherever they are kept.

Positions count every entry from 1, those of unknown kind too, which are never shown: so an entry's position stays what
it is when it moves to the archive.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass

from hosting.events import Place
from hosting.ports import ArchiveStore, Volume
from hosting.request.pages import Window
from state.archived import archived
from state.codec import held_entry
from state.conversation import generation
from state.models import Conversation, Entry, History, RequestEntry, ResponseEntry

Exchange = RequestEntry | ResponseEntry
_AT_ONCE = 1000


@dataclass(frozen=True)
class WholeConversation:
    """The archived and the recent entries of one conversation.

    What reads the archive raises `ArchiveUnavailableError`, and `ArchiveIncompleteError` where the conversation was
    reset or deleted since its document was read.
    """

    place: Place
    conversation: Conversation
    archive: ArchiveStore

    async def page(self, window: Window) -> tuple[list[tuple[int, Exchange]], bool]:
        """Return the window's entries with their positions, and whether there are more in its direction."""
        recent = self.conversation.data.conversation_history
        low, high = window.span(archived(self.conversation).entries + len(recent))
        found: list[tuple[int, Exchange]] = []
        while low <= high and len(found) < window.limit:
            first, last = window.first_of(low, high, window.limit - len(found))
            numbered = list(enumerate(await self._entries(first, last), start=first))
            found += [
                (position, entry)
                for position, entry in window.ordered(numbered)
                if isinstance(entry, RequestEntry | ResponseEntry)
            ]
            low, high = (low, first - 1) if window.is_newest_first else (last + 1, high)
        return found, low <= high

    async def archived_texts(self) -> list[str]:
        """Return every archived entry as JSON text, the oldest first."""
        return [text async for texts in self.archived_blocks() for text in texts]

    async def archived_blocks(self) -> AsyncIterator[list[str]]:
        """Iterate over the same, so many at once that memory does not grow with the conversation."""
        count = archived(self.conversation).entries
        for first in range(1, count + 1, _AT_ONCE):
            yield await self.archive.read(self._volume, first, min(count, first + _AT_ONCE - 1))

    @property
    def _volume(self) -> Volume:
        return Volume(self.place, generation(self.conversation))

    async def _entries(self, first: int, last: int) -> list[Entry]:
        count = archived(self.conversation).entries
        older = [] if first > count else await self.archive.read(self._volume, first, min(last, count))
        recent = self.conversation.data.conversation_history[max(0, first - 1 - count) : max(0, last - count)]
        return [*History(map(held_entry, older)), *recent]
