"""Stored text to `Conversation` and back. Reading and writing back is the identity on JSON values.

Key order: the properties that the models know, in the models' order, then the others as they were read.

A document in the form that `write` gives (and .NET's writer too) begins with the version and the history. It is read
entry by entry, and each entry keeps its text, so that entries which do not change are not written again. Any other
text is read as a whole.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from typing import Any, Final

from pydantic import ValidationError

from state.contents import Stored
from state.errors import (
    MalformedError,
    NoDataError,
    NotAnObjectError,
    NotAVersionError,
    NoVersionError,
    UnreadableDocumentError,
    UnsupportedVersionError,
)
from state.json_values import MAX_DEPTH, dump, parse, parse_from
from state.models import Conversation, Entries, Entry, PlainEntry, entry_text, plain_entry, validated_entry

CURRENT: Final = "1.1.0"
_MAJOR: Final = 1
_SEMANTIC: Final = re.compile(r"(0|[1-9][0-9]{0,8})\.(0|[1-9][0-9]{0,8})\.(0|[1-9][0-9]{0,8})")

# The version that a document gets when we add to it; newer ones keep theirs. 1.0 differs from 1.1 by the optional
# `orchestrationId` of requests only, so its shape needs no change. A step that changes shape goes before `read`
# validates; the label is raised only with the first change, for a document that is only read stays as it was.
RAISED_MINORS: Final[Mapping[str, str]] = {"0": CURRENT}
_ABSENT: Final = frozenset({"", "null"})

_BEGINNING: Final = re.compile(r'\{"schemaVersion":"[0-9.]+","data":\{"conversationHistory":\[')
# Must not be in the rest of the text: a second history or data, because its value would count, not the first's.
_AMBIGUOUS: Final = re.compile(r'"(data|conversationHistory)"|\\u')
_BEFORE_ENTRY: Final = ("[{", ",{")
_EXCHANGE: Final = '{"$type":"re'
_NEXT_EXCHANGE: Final = '},{"$type":"re'  # of requests and responses
_LEVELS_AROUND_ENTRY: Final = 3
_PARTS: Final = ("data", "conversation_history", "messages", "contents", "usage")
"""The fields of models that hold models."""


def read(text: str | None) -> Conversation:
    """Return the stored conversation; nothing, "" and "null" are a new one.

    Raises a subclass of `UnreadableDocumentError`, whatever the text is, and nothing else.
    """
    if text is None or text.strip() in _ABSENT:
        return Conversation.model_validate({"schemaVersion": CURRENT, "data": {"conversationHistory": []}})
    try:
        cut = _cut(text)
        if cut is not None:
            return _conversation(*cut)
    except (ValidationError, UnreadableDocumentError):
        pass  # only the whole text shows the fault
    try:
        return _conversation(parse(text))
    except ValidationError as error:
        raise _malformed(error) from error


def write(conversation: Conversation) -> str:
    """Return the compact text of the document: the same conversation gives the same bytes.

    Entries remember their text, so that writing a long conversation again costs one join.
    """
    data = conversation.data.model_dump(by_alias=True, exclude_unset=True, exclude={"conversation_history"})
    root = conversation.model_dump(by_alias=True, exclude_unset=True, exclude={"data"})
    version = dump(root.pop("schemaVersion"))
    history: list[str] = []
    if "conversation_history" in conversation.data.model_fields_set:
        entries = conversation.data.conversation_history.derived(entry_text)
        history = ['"conversationHistory":[', ",".join(entries), "]," if data else "]"]
    more = f",{dump(root)[1:]}" if root else "}"
    # One join of the large text: copying it is most of what writing costs.
    return "".join(['{"schemaVersion":', version, ',"data":{', *history, dump(data)[1:], more])


def read_entry(value: dict[str, Any], text: str | None = None) -> Entry:
    """Return the entry of a plain JSON object, which keeps its `text`, if it has one. Raises `MalformedError`."""
    try:
        entry = validated_entry(value, text)
    except ValidationError as error:
        raise _malformed(error) from error
    unset_namesakes(entry, value)
    return entry


def parse_entry(text: str) -> Entry | PlainEntry:
    """Return the entry of its JSON text, which it keeps. Raises as `read` does."""
    return plain_entry(text) or read_entry(parse(text), text)


def entry_value(entry: Entry) -> dict[str, Any]:
    """Return the entry as a plain JSON object of its own, which the caller may change.

    Its numbers are Python's: digits that a float has no room for are only in the text.
    """
    value: dict[str, Any] = json.loads(entry_text(entry))
    return value


def _conversation(value: Any, history: Entries | None = None) -> Conversation:
    _require_readable(value)
    conversation = Conversation.model_validate(value)
    unset_namesakes(conversation, value)
    if not history:
        return conversation
    data = conversation.data.model_copy(update={"conversation_history": history})
    return conversation.model_copy(update={"data": data})


def _require_readable(value: Any) -> None:
    """Refuse a document without data or a readable `schemaVersion`: any minor and patch of major 1 is readable."""
    if not isinstance(value, dict):
        raise NotAnObjectError(f"The stored document is a JSON {type(value).__name__}, not an object.")
    if "schemaVersion" not in value:
        raise NoVersionError("The stored document has no schemaVersion, so its meaning is unknown.")
    version = value["schemaVersion"]
    parts = _SEMANTIC.fullmatch(version) if isinstance(version, str) else None
    if parts is None:
        raise NotAVersionError(f"schemaVersion {version!r:.80} is not a version like {CURRENT}.")
    if int(parts[1]) != _MAJOR:
        raise UnsupportedVersionError(
            f"schemaVersion {version} cannot be read: this version of the app reads {_MAJOR}.x. "
            "Run the version that wrote it, or delete or reset the thread."
        )
    if "data" not in value:
        raise NoDataError("The stored document has no data.")


def _cut(text: str) -> tuple[Any, Entries] | None:
    """Return the document's value around an empty history, and the history; None for a text of another form.

    Raises what `json_values.parse` raises, and `pydantic.ValidationError`.
    """
    beginning = _BEGINNING.match(text)
    if beginning is None:
        return None
    start = beginning.end()
    entries: list[Entry | PlainEntry] = []
    end = start - 1  # at a bracket or a comma: what stands before an entry
    while text.startswith(_BEFORE_ENTRY, end):
        entry, end = _plain(text, end + 1) or _any(text, end + 1)
        entries.append(entry)
    rest = text[end:] if entries else text[start:]
    if not rest.startswith("]") or _AMBIGUOUS.search(rest):
        return None
    return parse(text[:start] + rest), Entries(entries)


def _plain(text: str, start: int) -> tuple[PlainEntry, int] | None:
    """Return a plain entry that reaches to the next one, and its end; None if it is not plain.

    Only what begins like one is tried: the search for the next one then never goes the same way twice.
    """
    if not text.startswith(_EXCHANGE, start):
        return None
    end = text.find(_NEXT_EXCHANGE, start) + 1
    own = text[start:end]
    entry = plain_entry(own) if own else None
    return None if entry is None else (entry, end)


def _any(text: str, start: int) -> tuple[Entry, int]:
    """Return the entry's model and its end.

    It is made before the next entry is parsed: while the plain values of one entry live, and not of all, the garbage
    collector has little to visit.
    """
    value, end = parse_from(text, start, MAX_DEPTH - _LEVELS_AROUND_ENTRY)
    return validated_entry(value, text[start:end]), end


def unset_namesakes(stored: Stored, value: dict[str, Any]) -> None:
    """Mark the fields of a model just validated from `value` as absent where `value` lacks them, at every level.

    `{"created_at": 1}` has an unknown property and no `createdAt`; pydantic keeps the first and then takes the field
    `created_at` for given, so that a null `createdAt` would be written. No setting of pydantic's distinguishes them.
    """
    names, parts = _names_and_parts(type(stored))
    for name in names.keys() & value.keys():
        if names[name] not in value:
            stored.model_fields_set.discard(name)
    for name, alias in parts:
        part = getattr(stored, name)
        if isinstance(part, Stored):
            unset_namesakes(part, value[alias])
        elif part:
            for item, item_value in zip(part, value[alias], strict=True):
                if isinstance(item, Stored):
                    unset_namesakes(item, item_value)


@cache
def _names_and_parts(kind: type[Stored]) -> tuple[dict[str, str], list[tuple[str, str]]]:
    """Return the names of a model's fields in Python and in JSON, and the fields with other models."""
    names = {name: field.alias or name for name, field in kind.model_fields.items()}
    return names, [(name, names[name]) for name in _PARTS if name in names]


def _malformed(error: ValidationError) -> MalformedError:
    first = error.errors(include_url=False, include_input=False)[0]
    path = ".".join(str(step) for step in first["loc"]) or "the document"
    return MalformedError(f"The stored document is malformed at {path}: {first['msg']}.")
