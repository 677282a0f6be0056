"""What a tool's function answered, as the result of `tools/call` (host contract 5.5)."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

from azure.functions.meta import Datum

Result = Mapping[str, object]
_BLOCK_TYPES = frozenset({"text", "image", "audio", "resource", "resource_link"})
_CALL_RESULT_KEYS = ("content", "structuredContent", "isError", "_meta")


def failed_result(tool_name: str) -> Result:
    """Return what the client is told of any failure: the function's own message stays on this side."""
    return {"content": [_text_block(f"An error occurred invoking '{tool_name}'.")], "isError": True}


def plain_result(datum: Datum) -> Result:
    """Return the answer of a tool without result schema: one text block, whatever the text is.

    Bytes become .NET's name of their type, as on the real host.
    """
    return {"content": [_text_block("System.Byte[]" if datum.type == "bytes" else str(datum.value))]}


def _text_block(text: str) -> Result:
    return {"type": "text", "text": text}


def schema_result(datum: Datum) -> Result:
    """Return the result that the tool's envelope describes; raise `ValueError` when it is none.

    The envelope is `{"type", "content", "structuredContent"?}`, whose two contents are JSON texts of their own.
    """
    envelope = _object(json.loads(datum.value))
    read = _ENVELOPES.get(str(envelope.get("type")), _single_block)
    return read(envelope)


def _call_tool_result(envelope: Mapping[str, object]) -> Result:
    given = {"content": [], **_object(_nested(envelope, "content"))}
    return {key: given[key] for key in _CALL_RESULT_KEYS if key in given}


def _blocks(envelope: Mapping[str, object]) -> Result:
    blocks = _nested(envelope, "content")
    if not isinstance(blocks, list) or not blocks:
        raise ValueError("the content must be a list of content blocks")
    return _with_structure([_block(block) for block in blocks], envelope)


def _single_block(envelope: Mapping[str, object]) -> Result:
    return _with_structure([_block(_nested(envelope, "content"))], envelope)


def _with_structure(blocks: list[Mapping[str, object]], envelope: Mapping[str, object]) -> Result:
    if envelope.get("structuredContent") is None:
        return {"content": blocks}
    return {"content": blocks, "structuredContent": _nested(envelope, "structuredContent")}


def _nested(envelope: Mapping[str, object], key: str) -> object:
    text = envelope.get(key)
    if not isinstance(text, str):
        raise ValueError(f"'{key}' must be JSON text")
    value: object = json.loads(text)
    return value


def _object(value: object) -> Mapping[str, object]:
    if not isinstance(value, dict):
        raise ValueError("a JSON object is wanted")
    return value


def _block(value: object) -> Mapping[str, object]:
    block = _object(value)
    if block.get("type") not in _BLOCK_TYPES:
        raise ValueError(f"unknown content block type {block.get('type')!r}")
    return block


_ENVELOPES: Mapping[str, Callable[[Mapping[str, object]], Result]] = {
    "call_tool_result": _call_tool_result,
    "multi_content_result": _blocks,
}
