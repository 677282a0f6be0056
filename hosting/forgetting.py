"""The entity's operations that forget: `reset` empties a conversation, `delete` and `expire` leave nothing of it.

Theory. All are signals, so all may be delivered twice. A reset leaves its id in the document's ledger, where the
second delivery finds it and whoever asked sees that it is done. A delete leaves no document; its mark in the run log
says whether it is still to do, and holds the digest of the text that it deleted: the same text delivered again is
deleted again, and a conversation that began since is not. To expire is to delete unless a run is open or somebody else
deletes already; that its time is up is for the document to say. Source: turn.md, Records 6 and 11.
"""

from __future__ import annotations

import hashlib
import logging
from dataclasses import dataclass
from typing import Any

from hosting.errors import InvalidFieldError
from hosting.events import Place
from hosting.identity import is_id
from hosting.ports import ArchiveStore, Deletion
from hosting.runlog.log import RunLog
from state.codec import write
from state.conversation import applied, forget
from state.models import Conversation

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Emptied:
    """What a reset made of a conversation."""

    text: str
    conversation: Conversation


def reset(conversation: Conversation, order: Any) -> Emptied | None:
    """Return the emptied conversation, or None when this reset has been done. `order` is `{"id": ...}`."""
    reset_id = _id_of(order, "reset")
    if applied(conversation, reset_id):
        return None
    emptied = forget(conversation, reset_id)
    return Emptied(write(emptied), emptied)


async def delete(place: Place, text: str | None, order: Any, log: RunLog, archive: ArchiveStore) -> bool:
    """Erase the thread's runs and archive if that is still to be done; tell whether the stored text must go too."""
    deletion = Deletion(_id_of(order, "delete"), _digest(text))
    mark = await log.deletion(place)
    if mark is None or mark.id != deletion.id:
        logger.info("A signal to delete thread %s of agent %s has no mark; it is done.", place.thread_id, place.agent)
        return False
    if mark.digest is None:
        await log.erase(place, deletion)
    elif mark.digest != deletion.digest:
        return False
    await archive.erase(place)
    return True


async def expire(place: Place, text: str, order: Any, log: RunLog, archive: ArchiveStore) -> bool:
    """Erase what `delete` does of a thread whose time is up, if none of its runs is open; tell as it does."""
    deletion = Deletion(_id_of(order, "expire"), _digest(text))
    mark = await log.deletion(place)
    if mark is not None and mark.digest is None:
        return False
    is_again = mark is not None and (mark.id, mark.digest) == (deletion.id, deletion.digest)
    if not is_again and await log.erase(place, deletion, unless_open=True) is None:
        return False
    await archive.erase(place)
    return True


def _digest(text: str | None) -> str:
    return hashlib.sha256((text or "").encode(errors="surrogatepass")).hexdigest()


def _id_of(order: Any, operation: str) -> str:
    given = order.get("id") if isinstance(order, dict) else None
    if not isinstance(given, str) or not is_id(given):
        raise InvalidFieldError(f"The operation {operation!r} takes an object with an 'id'.")
    return given
