"""`python -m state FILE` (or `-`): whether a stored document is readable, its unknown parts, and its messages.

Exit status: 0 readable, 1 refused (the code and the sentence are on standard error), 2 the file could not be read.
"""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from state.codec import read
from state.contents import (
    ATTACHMENT,
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
from state.conversation import exchanges, is_unanswered, message_count
from state.errors import UnreadableDocumentError
from state.extension import host_of
from state.models import OURS, Conversation, Entry, RequestEntry, ResponseEntry, UnknownEntry

_OURS: Final = frozenset({OURS, ATTACHMENT})
_SHOWN: Final = 60  # characters of a URI


def summary(conversation: Conversation, size: int) -> list[str]:
    """Return lines with counts of the document of `size` bytes."""
    entries = conversation.data.conversation_history
    responses = [entry for entry in entries if isinstance(entry, ResponseEntry)]
    requests = sum(isinstance(entry, RequestEntry) for entry in entries)
    unknown = len(entries) - len(responses) - requests
    older = host_of(conversation).archived
    return [
        f"schemaVersion {conversation.schema_version}, {size:,} bytes, generation {host_of(conversation).generation}",
        f"{len(entries)} entries: {requests} requests, {len(responses)} responses, {unknown} unknown",
        *([f"{older.entries:,} older entries are archived: {older.messages:,} messages"] if older.entries else []),
        f"{message_count(conversation)} messages; runs without an answer: {sum(map(is_unanswered, responses))}",
    ]


def unknown_paths(conversation: Conversation) -> list[str]:
    """Return the path of every property, content and entry that this version does not know. All of them are kept."""
    history = conversation.data.conversation_history
    return [
        *_unknown_in("", conversation),
        *_unknown_in("data", conversation.data),
        *(path for index, entry in enumerate(history) for path in _unknown_in_entry(f"entry {index}", entry)),
    ]


def transcript(conversation: Conversation) -> list[str]:
    """Return the conversation, one line a content, with the run that it belongs to."""
    return [
        f"{entry.correlation_id or '-'} {message.role or '-'}: {_line(content)}"
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
        for index, content in enumerate(message.contents):
            location = f"{path} message {number} content {index}"
            if isinstance(content, UnrecognizedContent):
                yield f"{location}: $type {content.type!r}"
            else:
                yield from _unknown_in(location, content)


def _unknown_in(path: str, stored: Stored) -> Iterator[str]:
    return (f"{path}: {name}" if path else name for name in stored.unknown_properties() if name not in _OURS)


def _line(content: StoredContent) -> str:
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


def main(arguments: Sequence[str] | None = None) -> int:
    """Print one document and return the exit status."""
    if isinstance(sys.stdout, io.TextIOWrapper):  # a console that lacks a character must not end the output
        sys.stdout.reconfigure(errors="backslashreplace")
    parser = argparse.ArgumentParser(prog="python -m state", description="Print a stored conversation.")
    parser.add_argument("file", help="the document, or - for standard input")
    source = parser.parse_args(arguments).file
    try:
        stored = sys.stdin.buffer.read() if source == "-" else Path(source).read_bytes()
        text = stored.decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        print(f"{source} cannot be read: {error}", file=sys.stderr)
        return 2
    try:
        conversation = read(text)
    except UnreadableDocumentError as error:
        print(f"not readable ({error.code}): {error}", file=sys.stderr)
        return 1
    unknown = [f"unknown, kept: {path}" for path in unknown_paths(conversation)]
    print("readable", *summary(conversation, len(stored)), *unknown, "", *transcript(conversation), sep="\n")
    return 0


def _exit_code() -> int:
    """Run the command; it ends quietly if its output is no longer read."""
    try:
        try:
            return main()
        finally:
            sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141


if __name__ == "__main__":
    sys.exit(_exit_code())
