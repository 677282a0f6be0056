"""What a thread's document keeps: room is made before a run where there is none, the older part leaves after it.

An archive that cannot be reached costs no answer: the document is stored as it is, the log says so, and the next turn
tries again. Only when the document has filled up meanwhile is a run refused.
"""

from __future__ import annotations

import logging

from hosting.entity.archiving import Archiving, Document, document_of
from hosting.entity.capacity import Capacity
from hosting.errors import ArchiveUnavailableError, ThreadFullError
from hosting.events import Place
from state.models import Conversation

logger = logging.getLogger(__name__)


class Keeping:
    """Makes and stores the documents of one agent's threads."""

    def __init__(self, capacity: Capacity, archiving: Archiving) -> None:
        self._capacity = capacity
        self._archiving = archiving

    async def admit(self, place: Place, document: Document, request: str) -> Document | ThreadFullError:
        """Return the document with room for a request's entry, or why the request is refused."""
        refusal = self._capacity.refusal(place.thread_id, document.text, request)
        room = self._capacity.room_beside(request)
        if refusal is None or room < 0:
            return refusal or document
        try:
            roomier = await self._archiving.make_room(place, document, room)
        except ArchiveUnavailableError:
            _tell_unavailable(place)
            return refusal
        return self._capacity.refusal(place.thread_id, roomier.text, request) or roomier

    async def keep(self, place: Place, conversation: Conversation) -> Document:
        """Return the document that is to be stored after a turn."""
        document = document_of(conversation)
        try:
            document = await self._archiving.shorten(place, document)
        except ArchiveUnavailableError:
            _tell_unavailable(place)
        self._capacity.tell(place.thread_id, document.text)
        return document


def _tell_unavailable(place: Place) -> None:
    logger.warning(
        "The older part of thread %s of agent %s cannot be moved: the archive cannot be reached. Its next turn tries "
        "again.",
        place.thread_id,
        place.agent,
    )
