"""A stored conversation, told to a person: what it is, what in it is unknown to this version, what was said."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from state.archived import archived
from state.contents import (
    DataContent,
    ErrorContent,
    FunctionCallContent,
    FunctionResultContent,
    ReasoningContent,
    Stored,
    StoredContent,
    TextContent,
    UnrecognizedContent,
    UriContent,
)
from state.conversation import exchanges, generation, is_unanswered, message_count
from state.models import Conversation, Entry, RequestEntry, ResponseEntry, UnknownEntry

_OURS: Final = frozenset({"agentFramework"})
_SHOWN: Final = 60  # characters of a URI


def summary(conversation: Conversation, size: int) -> list[str]:
    """Return lines that count what the document of `size` bytes holds."""
    entries = conversation.data.conversation_history
    responses = [entry for entry in entries if isinstance(entry, ResponseEntry)]
    requests = sum(isinstance(entry, RequestEntry) for entry in entries)
    unknown = len(entries) - len(responses) - requests
    older = archived(conversation)
    return [
        f"schemaVersion {conversation.schema_version}, {size:,} bytes, generation {generation(conversation)}",
        f"{len(entries)} entries: {requests} requests, {len(responses)} responses, {unknown} unknown",
        *([f"{older.entries:,} older entries are archived: {older.messages:,} messages"] if older.entries else []),
        f"{message_count(conversation)} messages; runs without an answer: {sum(map(is_unanswered, responses))}",
    ]


def unknown_places(conversation: Conversation) -> list[str]:
    """Return the path of every property, content and entry that this version does not know. All of them are kept."""
    history = conversation.data.conversation_history
    return [
        *_unknown_in("", conversation),
        *_unknown_in("data", conversation.data),
        *(place for index, entry in enumerate(history) for place in _unknown_in_entry(f"entry {index}", entry)),
    ]


def transcript(conversation: Conversation) -> list[str]:
    """Return the conversation, one line a content, with the run that it belongs to."""
    return [
        f"{entry.correlation_id or '-'} {message.role or '-'}: {_told(content)}"
        for entry in exchanges(conversation)
        for message in entry.messages
        for content in message.contents
    ]


def _unknown_in_entry(path: str, entry: Entry) -> Iterator[str]:
    if isinstance(entry, UnknownEntry):
        yield f"{path}: $type {entry.type!r}"
        return
    yield from _unknown_in(path, entry)
    if isinstance(entry, ResponseEntry) and entry.usage is not None:
        yield from _unknown_in(f"{path} usage", entry.usage)
    for number, message in enumerate(entry.messages):
        yield from _unknown_in(f"{path} message {number}", message)
        for place, content in enumerate(message.contents):
            yield from _unknown_content(f"{path} message {number} content {place}", content)


def _unknown_content(path: str, content: StoredContent) -> Iterator[str]:
    if isinstance(content, UnrecognizedContent):
        yield f"{path}: $type {content.type!r}"
        return
    yield from _unknown_in(path, content)


def _unknown_in(path: str, stored: Stored) -> Iterator[str]:
    return (f"{path}: {name}" if path else name for name in stored.unknown_properties() if name not in _OURS)


def _told(content: StoredContent) -> str:
    match content:
        case TextContent(text=text):
            return text or ""
        case ReasoningContent(text=text):
            return f"(thinks) {text or ''}"
        case FunctionCallContent():
            return f"(calls {content.name} as {content.call_id})"
        case FunctionResultContent():
            return f"(result of {content.call_id}) {content.result}"
        case ErrorContent():
            return f"(error {content.error_code}) {content.message}"
        case DataContent() | UriContent():
            return f"({content.type}) {(content.uri or '')[:_SHOWN]}"
    return f"({content.model_dump(by_alias=True).get('$type')})"
