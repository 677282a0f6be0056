"""Stored contents and the framework's serialized ones, side by side: two tables, plain values on both sides.

`STORED` gives the stored form for what the framework's `Content.to_dict()` gives, or None when the schema's required
properties cannot be filled. `FRAMEWORK` gives for a stored content what `Content.from_dict()` wants.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from state.contents import (
    TOKEN_COUNTS,
    DataContent,
    ErrorContent,
    FunctionCallContent,
    FunctionResultContent,
    HostedFileContent,
    HostedVectorStoreContent,
    ReasoningContent,
    StoredContent,
    TextContent,
    UriContent,
    Usage,
    UsageContent,
)
from state.errors import UnreadableDocumentError
from state.json_values import MAX_DEPTH, dump, from_json_value, is_deeper_than, parse, portable_value
from state.portable import is_address, is_data_uri, is_media_type

Value = dict[str, Any]
_MOST_TOKENS: Final = 2**63 - 1  # .NET's `long`; drafts of 1.2.0 refuse negative ones too
_NO_MEDIA_TYPE: Final = "application/octet-stream"  # the schema requires one for a URI, the framework does not


def usage_value(details: Mapping[str, Any]) -> Value:
    """Return the stored form of token counts; others than the three are under `extensionData`.

    So is a count that no other reader can hold, next to the nearest count that it can.
    """
    value: Value = {
        name: min(max(details[own], 0), _MOST_TOKENS)
        for name, own in TOKEN_COUNTS.items()
        if type(details.get(own)) is int
    }
    names = {TOKEN_COUNTS[name] for name, count in value.items() if count == details[TOKEN_COUNTS[name]]}
    rest = {own: count for own, count in details.items() if own not in names}
    return {**value, "extensionData": rest} if rest else value


def usage_details(usage: Usage) -> Value:
    """Return the framework's token counts."""
    stored = usage.model_dump(by_alias=True, exclude_none=True, include=set(TOKEN_COUNTS.values()))
    return {**{TOKEN_COUNTS[name]: count for name, count in stored.items()}, **(usage.extension_data or {})}


def _stored(
    kind: str, required: Mapping[str, str], optional: Mapping[str, str], anything: Mapping[str, str] | None = None
) -> Callable[[Value], Value | None]:
    """Make a reader of framework values: stored property -> framework field.

    Required ones must be strings, optional ones too where they are there. `anything` may be any value.
    """
    texts, fields = {**required, **optional}, {**required, **optional, **(anything or {})}

    def store(own: Value) -> Value | None:
        value = {name: own[field] for name, field in fields.items() if own.get(field) is not None}
        is_one = required.keys() <= value.keys() and all(isinstance(value.get(name, ""), str) for name in texts)
        return {"$type": kind, **value} if is_one else None

    return store


def _stored_data(own: Value) -> Value | None:
    value = _STORED_DATA(own)
    return value if value is not None and is_data_uri(value["uri"]) and _has_media_type(value) else None


def _stored_uri(own: Value) -> Value | None:
    value = _STORED_URI({"media_type": _NO_MEDIA_TYPE, **own})
    return value if value is not None and is_address(value["uri"]) and _has_media_type(value) else None


def _has_media_type(value: Value) -> bool:
    """Return whether a media type is one, or absent."""
    return is_media_type(value.get("mediaType", _NO_MEDIA_TYPE))


def _stored_call(own: Value) -> Value | None:
    """Store arguments as the object that they are, or that their text holds, and others as an empty one.

    .NET's reader requires an object. What the framework holds instead is kept as the difference (`state.convert`).
    """
    value, arguments = _STORED_CALL(own), own.get("arguments")
    if value is None:
        return None
    if isinstance(arguments, dict):
        return {**value, "arguments": arguments, "argumentsKind": "object"}
    try:
        parsed = parse(arguments) if isinstance(arguments, str) else None
    except UnreadableDocumentError:
        parsed = None
    is_object = isinstance(parsed, dict) and not is_deeper_than(parsed, MAX_DEPTH // 2)
    return {**value, "arguments": portable_value(parsed) if is_object else {}}


def _stored_error(own: Value) -> Value | None:
    """Store details as text, which other readers want."""
    value = _STORED_ERROR(own)
    if value is None or isinstance(value.get("details", ""), str):
        return value
    return {**value, "details": dump(value["details"])}


def _stored_usage(own: Value) -> Value | None:
    details = own.get("usage_details")
    return {"$type": "usage", "usage": usage_value(details)} if isinstance(details, dict) else None


_STORED_ERROR: Final = _stored(
    "error", {}, {"message": "message", "errorCode": "error_code"}, {"details": "error_details"}
)
_STORED_DATA: Final = _stored("data", {"uri": "uri"}, {"mediaType": "media_type", "name": "name"})
_STORED_URI: Final = _stored("uri", {"uri": "uri", "mediaType": "media_type"}, {"name": "name"})
_STORED_CALL: Final = _stored("functionCall", {"callId": "call_id", "name": "name"}, {})

STORED: Final[Mapping[str, Callable[[Value], Value | None]]] = {
    "text": _stored("text", {"text": "text"}, {}),
    "text_reasoning": _stored("reasoning", {}, {"text": "text"}),
    "data": _stored_data,
    "uri": _stored_uri,
    "error": _stored_error,
    "function_call": _stored_call,
    "function_result": _stored("functionResult", {"callId": "call_id"}, {}, {"result": "result"}),
    "hosted_file": _stored("hostedFile", {"fileId": "file_id"}, {}),
    "hosted_vector_store": _stored("hostedVectorStore", {"vectorStoreId": "vector_store_id"}, {}),
    "usage": _stored_usage,
}


def _call(content: FunctionCallContent) -> Value:
    arguments: Any = content.arguments
    if content.arguments_kind == "object":
        arguments = from_json_value(arguments)
    elif arguments is not None:
        arguments = dump(arguments)
    own = {"type": "function_call", "call_id": content.call_id or "", "name": content.name or ""}
    return {**own, "arguments": arguments}


def _result(content: FunctionResultContent) -> Value:
    """Give the result the shape the framework gives to a tool's text: the text, and the text as its one item."""
    result = {"type": "function_result", "call_id": content.call_id or ""}
    if content.result is None:
        return result
    text = content.result if isinstance(content.result, str) else dump(content.result)
    return {**result, "result": text, "items": [{"type": "text", "text": text}]}


def _framework(kind: str, required: Mapping[str, str], optional: Mapping[str, str]) -> Callable[[Any], Value]:
    """Make a writer of framework values: framework field -> the model's; a missing required one is empty."""

    def write(content: StoredContent) -> Value:
        own = {"type": kind, **{name: getattr(content, field) or "" for name, field in required.items()}}
        return {**own, **{name: getattr(content, field) for name, field in optional.items()}}

    return write


FRAMEWORK: Final[Mapping[type[StoredContent], Callable[[Any], Value]]] = {
    TextContent: _framework("text", {"text": "text"}, {}),
    ReasoningContent: _framework("text_reasoning", {}, {"text": "text"}),
    DataContent: _framework("data", {"uri": "uri"}, {"media_type": "media_type", "name": "name"}),
    UriContent: _framework("uri", {"uri": "uri"}, {"media_type": "media_type", "name": "name"}),
    ErrorContent: _framework(
        "error", {}, {"message": "message", "error_code": "error_code", "error_details": "details"}
    ),
    FunctionCallContent: _call,
    FunctionResultContent: _result,
    HostedFileContent: _framework("hosted_file", {"file_id": "file_id"}, {}),
    HostedVectorStoreContent: _framework("hosted_vector_store", {"vector_store_id": "vector_store_id"}, {}),
    UsageContent: lambda content: {"type": "usage", "usage_details": usage_details(content.usage or Usage())},
}
