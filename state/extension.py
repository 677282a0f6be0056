"""What we keep under `data.extensionData`, where other packages leave it: the host's own object and session state.

The host's object counts the archived entries, which are kept elsewhere, whole and in order; they come before the first
entry of the document. It may hold a summary, which the model is sent in place of the conversation's beginning; the
entries stay as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

from state.codec import RAISED_MINORS, held_entry
from state.contents import TOKEN_COUNTS
from state.models import Conversation, Entries, PlainEntry, RequestEntry, ResponseEntry, UnknownEntry

HOST: Final = "durableAgentHost"
SESSION: Final = "agentSession"


def host_value(conversation: Conversation) -> dict[str, Any]:
    """Return the host's own object; a value of another writer counts as none."""
    value = (conversation.data.extension_data or {}).get(HOST)
    return value if isinstance(value, dict) else {}


def changed(conversation: Conversation, history: Entries, extension: dict[str, Any]) -> Conversation:
    """Return a copy with these entries and extension properties; a property that is None is removed."""
    merged = {**(conversation.data.extension_data or {}), **extension}
    kept = {key: value for key, value in merged.items() if value is not None or key not in extension}
    update: dict[str, Any] = {"conversation_history": history}
    if kept or conversation.data.extension_data is not None:
        update["extension_data"] = kept
    version = conversation.schema_version
    return conversation.model_copy(
        update={
            "schema_version": RAISED_MINORS.get(version.split(".")[1], version),
            "data": conversation.data.model_copy(update=update),
        }
    )


ARCHIVED: Final = "archived"


@dataclass(frozen=True)
class Archived:
    """Sums over the archived entries; `since` is the time of the first of them, as it was written."""

    entries: int = 0
    messages: int = 0
    since: str | None = None
    input_token_count: int = 0
    output_token_count: int = 0
    total_token_count: int = 0


NOTHING: Final = Archived()


def archived(conversation: Conversation) -> Archived:
    """Return what the document says of its archived entries; none where it does not say so, or says it wrongly."""
    value = host_value(conversation).get(ARCHIVED)
    if not isinstance(value, dict) or _count(value.get("entries")) == 0:
        return NOTHING
    usage = value.get("usage")
    counts = {name: _count(usage.get(key)) for key, name in TOKEN_COUNTS.items()} if isinstance(usage, dict) else {}
    since = value.get("since")
    return Archived(
        entries=_count(value.get("entries")),
        messages=_count(value.get("messages")),
        since=since if isinstance(since, str) else None,
        **counts,
    )


def without_oldest(conversation: Conversation, count: int) -> Conversation:
    """Return the conversation without its `count` oldest entries, which it counts as archived."""
    held = conversation.data.conversation_history.held
    before, moved = archived(conversation), held[:count]
    exchanges = [cast(RequestEntry | ResponseEntry | PlainEntry, e) for e in moved if type(e) is not UnknownEntry]
    used = [usage for entry in exchanges if (usage := getattr(entry, "usage", None)) is not None]
    since = before.since or next((entry.created_at for entry in exchanges), None)
    value = {
        "entries": before.entries + len(moved),
        "messages": before.messages + Entries(moved).message_count,
        **({} if since is None else {"since": since}),
        "usage": {
            key: getattr(before, name) + sum(_count(getattr(usage, name, None)) for usage in used)
            for key, name in TOKEN_COUNTS.items()
        },
    }
    return changed(conversation, Entries(held[count:]), {HOST: {**host_value(conversation), ARCHIVED: value}})


def with_older(conversation: Conversation, entries: Sequence[str]) -> Conversation:
    """Return the conversation with its archived entries, given as JSON texts, back in their place."""
    if not entries:
        return conversation
    history = Entries([*map(held_entry, entries), *conversation.data.conversation_history.held])
    host = {name: value for name, value in host_value(conversation).items() if name != ARCHIVED}
    return changed(conversation, history, {HOST: host})


def _count(value: object) -> int:
    return value if type(value) is int and value > 0 else 0


SUMMARY: Final = "summary"

Position = tuple[int, int]
"""A message: the position of its entry in the whole conversation, from 1, and its number in what is replayed of it."""


@dataclass(frozen=True)
class Summary:
    """The text, and the place of the last message that it stands for."""

    through: Position
    text: str


def summary_of(conversation: Conversation) -> Summary | None:
    """Return the summary; a value of another writer counts as none."""
    value = host_value(conversation).get(SUMMARY)
    if not isinstance(value, dict) or not isinstance(value.get("text"), str):
        return None
    entry, message = value.get("entry"), value.get("message")
    return Summary((entry, message), value["text"]) if type(entry) is int and type(message) is int else None
