"""What Microsoft's .NET package makes of a stored document: read, one turn longer, and written as it writes.

Written from the public source of its State types (version 1.1.0): which properties each has, in which order they are
written, what is written though it is null, and how `System.Text.Json` writes texts, times and numbers.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

_NULL = object()
"""A property without `JsonIgnore`, which is written as null."""
_TIME = object()
"""A `DateTimeOffset`: with an offset, and without the zeros at the end of its fraction."""
_FRACTION = re.compile(r"\.?0*(?=[+-]\d\d:\d\d$)")
_UNESCAPED = re.compile(r"[ !#$%()*,\-./0-9:;=?@A-Z\[\]^_a-z{|}~]")
_SHORT = {"\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r", "\\": "\\\\"}

_USAGE = {"inputTokenCount": None, "outputTokenCount": None, "totalTokenCount": None}
_CONTENTS: Mapping[str, Mapping[str, Any]] = {
    "data": {"uri": None, "mediaType": None},
    "error": {"message": None, "errorCode": None, "details": None},
    "functionCall": {"arguments": None, "callId": None, "name": None},
    "functionResult": {"callId": None, "result": None},
    "hostedFile": {"fileId": None},
    "hostedVectorStore": {"vectorStoreId": None},
    "text": {"text": None},
    "reasoning": {"text": None},
    "uri": {"uri": None, "mediaType": None},
    "usage": {"usage": _USAGE},
    "unknown": {"content": None},
}
_MESSAGE = {"authorName": None, "createdAt": _TIME, "contents": [_CONTENTS], "role": None}
_OF_ALL = {"correlationId": None, "createdAt": _TIME, "messages": [_MESSAGE]}
_ENTRIES: Mapping[str, Mapping[str, Any]] = {
    "request": {"orchestrationId": _NULL, "responseType": _NULL, "responseSchema": None, **_OF_ALL},
    "response": {"usage": _USAGE, **_OF_ALL},
}
_DATA = {"conversationHistory": [_ENTRIES], "expirationTimeUtc": _NULL}


class _Plain(str):
    """What is written as it is: the digits of a number, or a time between its quotes."""

    __slots__ = ()


def rewritten(text: str, *turn: dict[str, Any]) -> str:
    """Return the document as .NET writes it, with these entries behind its own."""
    document = json.loads(text, parse_float=_Plain, parse_int=_Plain)
    data = document["data"]
    data["conversationHistory"] = [*data["conversationHistory"], *turn]
    return _written({"schemaVersion": document["schemaVersion"], "data": _shaped(data, _DATA)})


def entries_of(text: str) -> list[dict[str, Any]]:
    """Return the entries of a document, their numbers with the digits that they have there, for `rewritten`."""
    return list(json.loads(text, parse_float=_Plain, parse_int=_Plain)["data"]["conversationHistory"])


def _shaped(value: Any, shape: Any) -> Any:
    """Return a value with the shape's properties first, in their order, and all others behind them."""
    if shape is _TIME:
        at = value.removesuffix("Z") + "+00:00" if value.endswith("Z") else value
        return _Plain(f'"{_FRACTION.sub("", at) if "." in at else at}"')
    if isinstance(shape, list):
        return [_shaped(item, shape[0]) for item in value]
    if not isinstance(value, dict) or not isinstance(shape, Mapping):
        return value
    if shape in (_CONTENTS, _ENTRIES):
        kind = value["$type"]
        rest = {name: item for name, item in value.items() if name != "$type"}
        return {"$type": kind, **_shaped(rest, shape[kind])}
    known = {
        name: value.get(name) if inner is _NULL else _shaped(value[name], inner)
        for name, inner in shape.items()
        if inner is _NULL or value.get(name) is not None
    }
    return {**known, **{name: item for name, item in value.items() if name not in shape}}


def _written(value: Any) -> str:
    if isinstance(value, _Plain):
        return str(value)
    if isinstance(value, str):
        return f'"{"".join(map(_escaped, value))}"'
    if isinstance(value, Mapping):
        return "{" + ",".join(f"{_written(name)}:{_written(item)}" for name, item in value.items()) + "}"
    if isinstance(value, Sequence):
        return "[" + ",".join(map(_written, value)) + "]"
    return json.dumps(value)


def _escaped(character: str) -> str:
    if _UNESCAPED.fullmatch(character):
        return character
    if character in _SHORT:
        return _SHORT[character]
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at : at + 2].hex().upper()}" for at in range(0, len(units), 2))
