"""What a tool's function answered, as the result of `tools/call` (host contract 5.5)."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from azure.functions.meta import Datum

from devhost.mcp.envelope import Envelope, json_object, json_objects, nested, read_envelope

Result = Mapping[str, object]
_BLOCK_TYPES = frozenset({"text", "image", "audio", "resource", "resource_link"})
_CALL_RESULT_KEYS = ("content", "structuredContent", "isError", "_meta")


def failed_result(tool_name: str) -> Result:
    """Return what the client is told of any failure: the function's own message stays on this side."""
    return {"content": [text_block(f"An error occurred invoking '{tool_name}'.")], "isError": True}


def plain_result(datum: Datum) -> Result:
    """Return the answer of a tool without result schema: one text block, whatever the text is."""
    return {"content": [text_block(text_of(datum))]}


def text_of(datum: Datum) -> str:
    """Return the answer as text; bytes become .NET's name of their type, as on the real host."""
    return "System.Byte[]" if datum.type == "bytes" else str(datum.value)


def text_block(text: str) -> Result:
    """Return a content block with the text."""
    return {"type": "text", "text": text}


def schema_result(datum: Datum) -> Result:
    """Return the result that the tool's envelope describes; raise `ValueError` when it is none."""
    envelope = read_envelope(datum)
    read = _ENVELOPES.get(str(envelope.get("type")), _single_block)
    return read(envelope)


def _call_tool_result(envelope: Envelope) -> Result:
    given = {"content": [], **json_object(nested(envelope, "content"))}
    return {key: given[key] for key in _CALL_RESULT_KEYS if key in given}


def _blocks(envelope: Envelope) -> Result:
    blocks = json_objects(nested(envelope, "content"))
    return _with_structure([_block(block) for block in blocks], envelope)


def _single_block(envelope: Envelope) -> Result:
    return _with_structure([_block(json_object(nested(envelope, "content")))], envelope)


def _with_structure(blocks: list[Result], envelope: Envelope) -> Result:
    if envelope.get("structuredContent") is None:
        return {"content": blocks}
    return {"content": blocks, "structuredContent": nested(envelope, "structuredContent")}


def _block(block: Result) -> Result:
    if block.get("type") not in _BLOCK_TYPES:
        raise ValueError(f"unknown content block type {block.get('type')!r}")
    return block


_ENVELOPES: Mapping[str, Callable[[Envelope], Result]] = {
    "call_tool_result": _call_tool_result,
    "multi_content_result": _blocks,
}
