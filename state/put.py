"""Entries of messages that no run made: a person put them into the conversation.

They have the form of a run's: a request with the messages of users, a response with those of the agent behind them.
Other packages read them as such, so each such pair has a name of its own where a run's entries have the run's id. The
host's own property says that no run made it, and who put it in.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from msgspec import Struct

from state.codec import read_entry
from state.extension import with_extension
from state.models import OURS, PLAIN, Conversation, Entry, PlainEntry, RequestEntry, ResponseEntry

_MEMBER: Final = "put"
_NAME_LENGTH: Final = 32


class Put(Struct, frozen=True):
    """The `id` of messages that were put in together, and who did it: issuer, id and name, or None if unknown."""

    id: str
    by: Mapping[str, Any] | None = None

    def name(self, pair: int) -> str:
        """Return the name of the entries of that number, as long as a run's id."""
        return hashlib.sha256(f"{self.id}/{pair}".encode()).hexdigest()[:_NAME_LENGTH]

    def entry(self, value: Mapping[str, Any]) -> RequestEntry | ResponseEntry:
        """Return the entry of a request or a response in stored form, as one that was put in."""
        mark = {_MEMBER: {"id": self.id, **({} if self.by is None else {"by": dict(self.by)})}}
        return cast(RequestEntry | ResponseEntry, read_entry({**value, OURS: {**value.get(OURS, {}), **mark}}))


def with_entries(conversation: Conversation, entries: Sequence[RequestEntry | ResponseEntry]) -> Conversation:
    """Return the conversation with these entries behind the others."""
    return with_extension(conversation, {}, conversation.data.conversation_history.with_entries(*entries))


def put_of(entry: Entry | PlainEntry) -> Put | None:
    """Return with which messages an entry was put in, None where a run made it."""
    ours = None if isinstance(entry, PLAIN) else entry.unknown_properties().get(OURS)
    match ours.get(_MEMBER) if isinstance(ours, dict) else None:
        case {"id": str(put_id), **rest}:
            by = rest.get("by")
            return Put(put_id, by if isinstance(by, dict) else None)
    return None


def source_of(entry: RequestEntry | ResponseEntry) -> str | None:
    """Return the id of the run that made an entry, or of the messages with which it was put in."""
    put = put_of(entry)
    return entry.correlation_id if put is None else put.id


def held_puts(conversation: Conversation) -> set[str]:
    """Return the ids of the messages among the entries that were put in."""
    return {put.id for entry in conversation.data.conversation_history.stored if (put := put_of(entry)) is not None}
