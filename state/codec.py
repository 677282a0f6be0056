"""Stored text to `Conversation` and back. Reading and writing back is the identity on JSON values.

Key order: the properties that the models know, in the models' order, then the others as they were read.
"""

from __future__ import annotations

from typing import Any, Final

from pydantic import ValidationError

from state.document_text import cut_document
from state.errors import MalformedError, NoDataError, NotAnObjectError, UnreadableStateError
from state.json_text import dump, parse
from state.models import Conversation, Entry, History, entry_text, validated_entry
from state.namesakes import unset_namesakes
from state.plain import PlainEntry, plain_entry
from state.versions import CURRENT, readable_version

_ABSENT: Final = frozenset({"", "null"})


def read(text: str | None) -> Conversation:
    """Return the stored conversation; nothing, "" and "null" are a new one.

    Raises a subclass of `UnreadableStateError`, whatever the text is, and nothing else.
    """
    if text is None or text.strip() in _ABSENT:
        return Conversation.model_validate({"schemaVersion": CURRENT, "data": {"conversationHistory": []}})
    return _read_cut(text) or _read_whole(text)


def write(conversation: Conversation) -> str:
    """Return the compact text of the document: the same conversation gives the same bytes.

    Entries remember their text, so that writing a long conversation again costs one join.
    """
    data = conversation.data.model_dump(by_alias=True, exclude_unset=True, exclude={"conversation_history"})
    root = conversation.model_dump(by_alias=True, exclude_unset=True, exclude={"data"})
    version = dump(root.pop("schemaVersion"))
    history: list[str] = []
    if "conversation_history" in conversation.data.model_fields_set:
        entries = (entry.once(entry_text) for entry in conversation.data.conversation_history.held)
        history = ['"conversationHistory":[', ",".join(entries), "]," if data else "]"]
    # One join of the large text: copying it is most of what writing costs.
    return "".join(['{"schemaVersion":', version, ',"data":{', *history, _members(data), "}", _more(root), "}"])


def read_entry(value: dict[str, Any]) -> Entry:
    """Return the entry of a plain JSON object. Raises `MalformedError`."""
    try:
        entry = validated_entry(value)
    except ValidationError as error:
        raise _malformed(error) from error
    unset_namesakes(entry, value)
    return entry


def held_entry(text: str) -> Entry | PlainEntry:
    """Return the entry of its JSON text, which it remembers. Raises what `read` does."""
    entry = plain_entry(text) or read_entry(parse(text))
    entry.made[entry_text] = text
    return entry


def entry_value(entry: Entry) -> dict[str, Any]:
    """Return the entry as a plain JSON object of its own, which the caller may change."""
    value: dict[str, Any] = parse(entry.once(entry_text))
    return value


def _read_cut(text: str) -> Conversation | None:
    """Read entry by entry; None for what is out of the ordinary: only the whole text tells what is wrong with it."""
    try:
        cut = cut_document(text)
        return None if cut is None else _conversation(cut.value, History(cut.entries))
    except (ValidationError, UnreadableStateError):
        return None


def _read_whole(text: str) -> Conversation:
    try:
        return _conversation(parse(text))
    except ValidationError as error:
        raise _malformed(error) from error


def _conversation(value: Any, history: History | None = None) -> Conversation:
    _require_readable(value)
    conversation = Conversation.model_validate(value)
    unset_namesakes(conversation, value)
    if not history:
        return conversation
    data = conversation.data.model_copy(update={"conversation_history": history})
    return conversation.model_copy(update={"data": data})


def _require_readable(value: Any) -> None:
    if not isinstance(value, dict):
        raise NotAnObjectError(f"The stored document is a JSON {type(value).__name__}, not an object.")
    readable_version(value)
    if "data" not in value:
        raise NoDataError("The stored document has no data.")


def _members(value: dict[str, Any]) -> str:
    return dump(value)[1:-1]


def _more(value: dict[str, Any]) -> str:
    return f",{_members(value)}" if value else ""


def _malformed(error: ValidationError) -> MalformedError:
    first = error.errors(include_url=False, include_input=False)[0]
    path = ".".join(str(step) for step in first["loc"]) or "the document"
    return MalformedError(f"The stored document is malformed at {path}: {first['msg']}.")
