"""Which entries of a long thread move to the archive, and when.

Theory. The document holds the recent conversation. Once its entries pass their budget, the oldest turns move until a
quarter of the budget is free again, so that most turns move nothing and a move is one call to the store. Entries are
put before the document that no longer has them is committed: a crash in between leaves them in both places, the
document rules, and the next delivery puts the same entries under the same positions. What moved is never changed again.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate

from hosting.entity.capacity import size_bytes
from hosting.events import Place
from hosting.ports import ArchiveStore, Volume
from state.archived import archived, without_oldest
from state.codec import write
from state.conversation import generation, pause_of
from state.cutting import cuts
from state.models import Conversation, entry_text

KEPT_SHARE = 0.75


@dataclass(frozen=True)
class Document:
    """A conversation and the text that is stored of it."""

    text: str
    conversation: Conversation


def document_of(conversation: Conversation) -> Document:
    """Return the conversation with the text that is to be stored of it."""
    return Document(write(conversation), conversation)


class Archiving:
    """Keeps the documents of one app within a budget of bytes."""

    def __init__(self, archive: ArchiveStore, budget_bytes: int) -> None:
        self._archive = archive
        self._budget = budget_bytes

    async def shorten(self, place: Place, document: Document) -> Document:
        """Return the document with its entries within the budget, at least its last turn kept; the rest is archived.

        Raises `ArchiveUnavailableError`; the document given is then as good as before.
        """
        texts = _texts(document)
        held_bytes = sum(map(size_bytes, texts))
        if held_bytes <= self._budget:
            return document
        ends = _ends(document.conversation)
        return await self._move(place, document, _moving(texts, ends, held_bytes - int(self._budget * KEPT_SHARE)))

    async def make_room(self, place: Place, document: Document, kept_bytes: int) -> Document:
        """Return the document with at most `kept_bytes`, so far as entries can be archived: all of them may.

        Raises as `shorten` does.
        """
        texts = _texts(document)
        ends = _ends(document.conversation, keeps_last=False)
        return await self._move(place, document, _moving(texts, ends, size_bytes(document.text) - kept_bytes))

    async def _move(self, place: Place, document: Document, count: int) -> Document:
        if not count:
            return document
        conversation = document.conversation
        volume = Volume(place, generation(conversation))
        await self._archive.put(volume, archived(conversation).entries + 1, _texts(document)[:count])
        return document_of(without_oldest(conversation, count))


def _texts(document: Document) -> list[str]:
    return [entry.once(entry_text) for entry in document.conversation.data.conversation_history.held]


def _ends(conversation: Conversation, *, keeps_last: bool = True) -> list[int]:
    """Return how many entries may move: whole turns, and none from the turn on that waits for approvals."""
    held = conversation.data.conversation_history.held
    ends = cuts(held) if keeps_last else [*cuts(held), len(held)]
    pause = pause_of(conversation)
    if pause is None:
        return ends
    waiting = (place for place, entry in enumerate(held) if getattr(entry, "correlation_id", None) == pause.run_id)
    most = next(waiting, len(held))
    return [end for end in ends if end <= most]


def _moving(texts: list[str], ends: list[int], bytes_over: int) -> int:
    """Return how many entries free that many bytes, up to one of the ends; up to the last if none does."""
    freed_at = list(accumulate(map(size_bytes, texts), initial=0))
    return next((end for end in ends if freed_at[end] >= bytes_over), ends[-1] if ends else 0)
