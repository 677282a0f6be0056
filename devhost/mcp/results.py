"""What a function answered, as the result of the MCP method that called it.

A function with result schema answers an envelope, whose contents are JSON texts. One that cannot be used raises
`ValueError` or `TypeError`.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping

from azure.functions.meta import Datum

from devhost.mcp.catalog import Offer, Resource

Result = Mapping[str, object]
Envelope = Mapping[str, object]
_BLOCK_TYPES = frozenset({"text", "image", "audio", "resource", "resource_link"})
_CALL_RESULT_KEYS = ("content", "structuredContent", "isError", "_meta")


def failed_call(tool_name: str) -> Result:
    """Return what the client gets for any failure: the function's own message stays on this side."""
    return {"content": [_text_block(f"An error occurred invoking '{tool_name}'.")], "isError": True}


def call_result(tool: Offer, datum: Datum) -> Result:
    """Return the result of `tools/call`: one text block, whatever the text is, or what the envelope describes."""
    if not tool.has_result_schema:
        return {"content": [_text_block(_text_of(datum))]}
    envelope: Envelope = _object(json.loads(datum.value))
    match envelope.get("type"):
        case "call_tool_result":
            given = {"content": [], **_object(_nested(envelope, "content"))}
            return {key: given[key] for key in _CALL_RESULT_KEYS if key in given}
        case "multi_content_result":
            blocks = _objects(_nested(envelope, "content"))
        case _:
            blocks = [_object(_nested(envelope, "content"))]
    for block in blocks:
        if block.get("type") not in _BLOCK_TYPES:
            raise ValueError(f"unknown content block type {block.get('type')!r}")
    if envelope.get("structuredContent") is None:
        return {"content": blocks}
    return {"content": blocks, "structuredContent": _nested(envelope, "structuredContent")}


def read_result(resource: Resource, uri: str, datum: Datum) -> Result:
    """Return the result of `resources/read` for the address as it was asked for."""
    if resource.has_result_schema:
        return {"contents": [_object(_nested(_object(json.loads(datum.value)), "content"))]}
    kind = {"mimeType": resource.mime_type} if resource.mime_type else {}
    is_blob = datum.type == "bytes"
    body = {"blob": base64.b64encode(datum.value).decode()} if is_blob else {"text": str(datum.value)}
    return {"contents": [{"uri": uri, **kind, **body}]}


def prompt_result(prompt: Offer, datum: Datum) -> Result:
    """Return the result of `prompts/get`: one message of the user, or what the envelope describes.

    Without result schema the text stays text, even when it is the JSON of messages.
    """
    if not prompt.has_result_schema:
        return {"messages": [{"content": _text_block(_text_of(datum)), "role": "user"}]}
    envelope: Envelope = _object(json.loads(datum.value))
    match envelope.get("type"):
        case "get_prompt_result":
            return _object(_nested(envelope, "content"))
        case "prompt_messages":
            return {"messages": _objects(_nested(envelope, "content"))}
        case other:
            raise ValueError(f"unknown type {other!r}")


def _text_of(datum: Datum) -> str:
    """Return the answer as text; bytes become .NET's name of their type, as on the real host."""
    return "System.Byte[]" if datum.type == "bytes" else str(datum.value)


def _text_block(text: str) -> Result:
    return {"type": "text", "text": text}


def _nested(envelope: Envelope, key: str) -> object:
    """Return the JSON value that the envelope holds as text; raise `ValueError` when it is no such text."""
    text = envelope.get(key)
    if not isinstance(text, str):
        raise ValueError(f"'{key}' must be JSON text")
    value: object = json.loads(text)
    return value


def _object(value: object) -> Mapping[str, object]:
    if not isinstance(value, dict):
        raise ValueError("a JSON object is wanted")
    return value


def _objects(value: object) -> list[Mapping[str, object]]:
    if not isinstance(value, list) or not value:
        raise ValueError("the content must be a list with at least one object")
    return [_object(item) for item in value]
