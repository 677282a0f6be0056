"""Stored contents and the framework's serialized ones, side by side: two tables, plain values on both sides.

`STORED` gives the stored form for what the framework's `Content.to_dict()` says, or None when the schema's required
properties cannot be filled. `FRAMEWORK` gives for a stored content what `Content.from_dict()` wants.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from state.contents import (
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
from state.errors import UnreadableStateError
from state.json_text import MAX_DEPTH, dump, is_deeper_than, parse
from state.python_values import from_json_value

Value = dict[str, Any]
_COUNTS: Final = {
    "inputTokenCount": "input_token_count",
    "outputTokenCount": "output_token_count",
    "totalTokenCount": "total_token_count",
}
_COUNT_FIELDS: Final = set(_COUNTS.values())
_NO_MEDIA_TYPE: Final = "application/octet-stream"  # the schema requires one for a URI, the framework does not


def usage_value(details: Mapping[str, Any]) -> Value:
    """Return the stored form of token counts; what is not one of the three is under `extensionData`."""
    value: Value = {name: details[own] for name, own in _COUNTS.items() if type(details.get(own)) is int}
    kept = {_COUNTS[name] for name in value}
    rest = {own: count for own, count in details.items() if own not in kept}
    return {**value, "extensionData": rest} if rest else value


def usage_details(usage: Usage) -> Value:
    """Return the framework's token counts."""
    stored = usage.model_dump(by_alias=True, exclude_none=True, include=_COUNT_FIELDS)
    return {**{_COUNTS[name]: count for name, count in stored.items()}, **(usage.extension_data or {})}


def _stored(kind: str, required: Mapping[str, str], optional: Mapping[str, str]) -> Callable[[Value], Value | None]:
    """Make a reader of framework values: stored property -> framework field; required ones must be strings."""

    def store(own: Value) -> Value | None:
        if not all(isinstance(own.get(field), str) for field in required.values()):
            return None
        fields = {**required, **optional}
        return {"$type": kind, **{name: own[field] for name, field in fields.items() if own.get(field) is not None}}

    return store


def _stored_uri(own: Value) -> Value | None:
    return _STORED_URI({"media_type": _NO_MEDIA_TYPE, **own})


def _stored_call(own: Value) -> Value | None:
    value = _STORED_CALL(own)
    return value if value is None else {**value, **_stored_arguments(own.get("arguments"))}


def _stored_arguments(arguments: Any) -> Value:
    if isinstance(arguments, dict):
        return {"arguments": arguments, "argumentsKind": "object"}
    parsed = _parsed_arguments(arguments) if isinstance(arguments, str) else None
    return {} if parsed is None else {"arguments": parsed}


def _parsed_arguments(text: str) -> Value | None:
    try:
        parsed = parse(text)
    except UnreadableStateError:
        return None
    return parsed if isinstance(parsed, dict) and not is_deeper_than(parsed, MAX_DEPTH // 2) else None


def _stored_usage(own: Value) -> Value | None:
    details = own.get("usage_details")
    return {"$type": "usage", "usage": usage_value(details)} if isinstance(details, dict) else None


_STORED_URI: Final = _stored("uri", {"uri": "uri", "mediaType": "media_type"}, {})
_STORED_CALL: Final = _stored("functionCall", {"callId": "call_id", "name": "name"}, {})

STORED: Final[Mapping[str, Callable[[Value], Value | None]]] = {
    "text": _stored("text", {"text": "text"}, {}),
    "text_reasoning": _stored("reasoning", {}, {"text": "text"}),
    "data": _stored("data", {"uri": "uri"}, {"mediaType": "media_type"}),
    "uri": _stored_uri,
    "error": _stored("error", {}, {"message": "message", "errorCode": "error_code", "details": "error_details"}),
    "function_call": _stored_call,
    "function_result": _stored("functionResult", {"callId": "call_id"}, {"result": "result"}),
    "hosted_file": _stored("hostedFile", {"fileId": "file_id"}, {}),
    "hosted_vector_store": _stored("hostedVectorStore", {"vectorStoreId": "vector_store_id"}, {}),
    "usage": _stored_usage,
}


def _text(content: TextContent) -> Value:
    return {"type": "text", "text": content.text or ""}


def _reasoning(content: ReasoningContent) -> Value:
    return {"type": "text_reasoning", "text": content.text}


def _data(content: DataContent) -> Value:
    return {"type": "data", "uri": content.uri or "", "media_type": content.media_type}


def _uri(content: UriContent) -> Value:
    return {"type": "uri", "uri": content.uri or "", "media_type": content.media_type}


def _error(content: ErrorContent) -> Value:
    names = {"message": content.message, "error_code": content.error_code, "error_details": content.details}
    return {"type": "error", **names}


def _call(content: FunctionCallContent) -> Value:
    call = {"type": "function_call", "call_id": content.call_id or "", "name": content.name or ""}
    return {**call, "arguments": _framework_arguments(content)}


def _framework_arguments(content: FunctionCallContent) -> Any:
    if content.arguments_kind == "object":
        return from_json_value(content.arguments)
    return None if content.arguments is None else dump(content.arguments)


def _result(content: FunctionResultContent) -> Value:
    """Give the result the shape the framework gives to a tool's text: the text, and the text as its one item."""
    result = {"type": "function_result", "call_id": content.call_id or ""}
    if content.result is None:
        return result
    text = content.result if isinstance(content.result, str) else dump(content.result)
    return {**result, "result": text, "items": [{"type": "text", "text": text}]}


def _hosted_file(content: HostedFileContent) -> Value:
    return {"type": "hosted_file", "file_id": content.file_id or ""}


def _hosted_vector_store(content: HostedVectorStoreContent) -> Value:
    return {"type": "hosted_vector_store", "vector_store_id": content.vector_store_id or ""}


def _usage(content: UsageContent) -> Value:
    return {"type": "usage", "usage_details": usage_details(content.usage or Usage())}


FRAMEWORK: Final[Mapping[type[StoredContent], Callable[[Any], Value]]] = {
    TextContent: _text,
    ReasoningContent: _reasoning,
    DataContent: _data,
    UriContent: _uri,
    ErrorContent: _error,
    FunctionCallContent: _call,
    FunctionResultContent: _result,
    HostedFileContent: _hosted_file,
    HostedVectorStoreContent: _hosted_vector_store,
    UsageContent: _usage,
}
