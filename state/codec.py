"""Stored text to `Conversation` and back. Reading and writing back is the identity on JSON values.

Key order: the properties that the models know, in the models' order, then the others as they were read.
"""

from __future__ import annotations

from typing import Any, Final

from pydantic import TypeAdapter, ValidationError
from pydantic_core import PydanticSerializationError

from state.document_text import parse_document
from state.errors import MalformedError, NoDataError, NotAnObjectError
from state.json_text import dump
from state.models import Conversation, Entry
from state.versions import CURRENT, readable_version

_ABSENT: Final = frozenset({"", "null"})
_ENTRY: Final[TypeAdapter[Entry]] = TypeAdapter(Entry)


def read(text: str | None) -> Conversation:
    """Return the stored conversation; nothing, "" and "null" are a new one.

    Raises a subclass of `UnreadableStateError`, whatever the text is, and nothing else.
    """
    if text is None or text.strip() in _ABSENT:
        return Conversation.model_validate({"schemaVersion": CURRENT, "data": {"conversationHistory": []}})
    document = parse_document(text)
    value = document.value
    if not isinstance(value, dict):
        raise NotAnObjectError(f"The stored document is a JSON {type(value).__name__}, not an object.")
    readable_version(value)
    if "data" not in value:
        raise NoDataError("The stored document has no data.")
    try:
        conversation = Conversation.model_validate(value)
    except ValidationError as error:
        raise _malformed(error) from error
    for entry, entry_text in zip(conversation.data.conversation_history, document.entry_texts, strict=False):
        entry.made[_entry_text] = entry_text
    return conversation


def write(conversation: Conversation) -> str:
    """Return the compact text of the document: the same conversation gives the same bytes.

    Entries remember their text, so that writing a long conversation again costs one join.
    """
    data = conversation.data.model_dump(by_alias=True, exclude_unset=True, exclude={"conversation_history"})
    root = conversation.model_dump(by_alias=True, exclude_unset=True, exclude={"data"})
    version = dump(root.pop("schemaVersion"))
    history: list[str] = []
    if "conversation_history" in conversation.data.model_fields_set:
        entries = (entry.once(_entry_text) for entry in conversation.data.conversation_history)
        history = ['"conversationHistory":[', ",".join(entries), "]," if data else "]"]
    # One join of the large text: copying it is most of what writing costs.
    return "".join(['{"schemaVersion":', version, ',"data":{', *history, _members(data), "}", _more(root), "}"])


def read_entry(value: dict[str, Any]) -> Entry:
    """Return the entry of a plain JSON object. Raises `MalformedError`."""
    try:
        return _ENTRY.validate_python(value)
    except ValidationError as error:
        raise _malformed(error) from error


def entry_value(entry: Entry) -> dict[str, Any]:
    """Return the entry as a plain JSON object of its own, which the caller may change."""
    return entry.model_dump(by_alias=True, exclude_unset=True)


def _entry_text(entry: Entry) -> str:
    try:
        return entry.model_dump_json(by_alias=True, exclude_unset=True)
    except (PydanticSerializationError, UnicodeEncodeError):  # lone surrogates: only the escaping writer can
        return dump(entry_value(entry))


def _members(value: dict[str, Any]) -> str:
    return dump(value)[1:-1]


def _more(value: dict[str, Any]) -> str:
    return f",{_members(value)}" if value else ""


def _malformed(error: ValidationError) -> MalformedError:
    first = error.errors(include_url=False, include_input=False)[0]
    path = ".".join(str(step) for step in first["loc"]) or "the document"
    return MalformedError(f"The stored document is malformed at {path}: {first['msg']}.")
