"""What a document says of the entries that it no longer holds: how many they are, and what readers count of them.

They come before the first entry that is there, and are kept elsewhere, whole and in order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

from state.codec import held_entry
from state.extension import HOST, changed, host_value
from state.models import Conversation, Entry, History, RequestEntry, ResponseEntry, UnknownEntry
from state.plain import PlainEntry

ARCHIVED: Final = "archived"
_USAGE: Final = {
    "inputTokenCount": "input_token_count",
    "outputTokenCount": "output_token_count",
    "totalTokenCount": "total_token_count",
}


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
    """Return what the document says of its archived entries; without a word of them, or a wrong one, there are none."""
    value = host_value(conversation).get(ARCHIVED)
    if not isinstance(value, dict) or _count(value.get("entries")) == 0:
        return NOTHING
    usage = value.get("usage")
    counts = {name: _count(usage.get(key)) for key, name in _USAGE.items()} if isinstance(usage, dict) else {}
    since = value.get("since")
    return Archived(
        entries=_count(value.get("entries")),
        messages=_count(value.get("messages")),
        since=since if isinstance(since, str) else None,
        **counts,
    )


def without_oldest(conversation: Conversation, count: int) -> Conversation:
    """Return the conversation without its `count` oldest entries, which are archived now."""
    held = conversation.data.conversation_history.held
    value = _value(_with(archived(conversation), held[:count]))
    return changed(conversation, History(held[count:]), {HOST: {**host_value(conversation), ARCHIVED: value}})


def with_older(conversation: Conversation, entries: Sequence[str]) -> Conversation:
    """Return the conversation with its archived entries, given as JSON texts, back in their place."""
    if not entries:
        return conversation
    history = History([*map(held_entry, entries), *conversation.data.conversation_history.held])
    return changed(conversation, history, {HOST: without_archived(host_value(conversation))})


def without_archived(host: Mapping[str, Any]) -> dict[str, Any]:
    """Return the host's own object without a word of archived entries."""
    return {name: value for name, value in host.items() if name != ARCHIVED}


def _with(before: Archived, more: Sequence[Entry | PlainEntry]) -> Archived:
    exchanged = [cast(RequestEntry | ResponseEntry | PlainEntry, e) for e in more if type(e) is not UnknownEntry]
    used = [usage for entry in exchanged if (usage := getattr(entry, "usage", None)) is not None]
    counts = {
        name: getattr(before, name) + sum(_count(getattr(u, name, None)) for u in used) for name in _USAGE.values()
    }
    return Archived(
        entries=before.entries + len(more),
        messages=before.messages + sum(len(entry.messages) for entry in exchanged),
        since=before.since or next((entry.created_at for entry in exchanged), None),
        **counts,
    )


def _value(stands: Archived) -> dict[str, Any]:
    since = {} if stands.since is None else {"since": stands.since}
    usage = {key: getattr(stands, name) for key, name in _USAGE.items()}
    return {"entries": stands.entries, "messages": stands.messages, **since, "usage": usage}


def _count(value: object) -> int:
    return value if type(value) is int and value > 0 else 0
