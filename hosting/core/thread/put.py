"""Messages that a person put into a conversation: its entries of them, and the conversation after them."""

from __future__ import annotations

import logging

from hosting.core.thread.messages import exchange_entries, run_messages
from hosting.core.thread.run_request import RunRequest
from hosting.core.thread.thread_events import MessagesPut
from hosting.ports import iso
from state.conversation import without_pause
from state.errors import BadContentError
from state.models import Conversation, RequestEntry, ResponseEntry
from state.put import Put, with_entries

logger = logging.getLogger(__name__)


def entries_of(event: MessagesPut, conversation: Conversation) -> list[RequestEntry | ResponseEntry]:
    """Return the entries of these messages, behind what closes the calls that the conversation left open.

    Raises `BadContentError` for contents that no message may have.
    """
    by = event.principal
    put = Put(event.id, None if by is None else {"issuer": by.issuer, "id": by.id, "name": by.name})
    *earlier, newest = event.messages
    messages = run_messages(RunRequest(**dict(newest), earlier=tuple(earlier)), conversation)
    return [put.entry(value) for value in exchange_entries(messages, put.name, iso(event.at))]


def with_put(conversation: Conversation, event: MessagesPut) -> Conversation:
    """Return the conversation with these messages; it waits for nothing then."""
    try:
        entries = entries_of(event, conversation)
    except BadContentError:  # as for a run's request: one entry makes no conversation unreadable
        logger.warning("The messages %s cannot be read and are left out of their conversation.", event.id)
        return conversation
    return with_entries(without_pause(conversation), entries)
