"""Anthropic's Messages, whose thinking belongs to the call behind it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from tests.fidelity.script import Answer

_ID = re.compile(r"[A-Za-z0-9_-]+\Z")
_STOP = {"stop": "end_turn", "length": "max_tokens", "content_filter": "refusal"}


class AnthropicMessages:
    """The wire of `/v1/messages`."""

    path = "/v1/messages"

    def problems(self, body: dict[str, Any], kept: Sequence[dict[str, Any]]) -> list[str]:
        thinks = (body.get("thinking") or {}).get("type") == "enabled"
        return list(_problems(body["messages"], thinks=thinks))

    def items(self, body: dict[str, Any]) -> list[dict[str, Any]]:
        messages: list[dict[str, Any]] = body["messages"]
        return messages

    def kept(self, reply: dict[str, Any]) -> list[dict[str, Any]]:
        return []

    def reply(self, answer: Answer, number: int) -> dict[str, Any]:
        return {
            "id": f"msg_{number}",
            "type": "message",
            "role": "assistant",
            "model": "c",
            "content": list(_blocks(answer, number)),
            "stop_reason": "tool_use" if answer.calls else _STOP[answer.finish],
            "stop_sequence": None,
            "usage": {"input_tokens": 7, "output_tokens": 3},
        }

    def events(self, answer: Answer, number: int) -> list[str]:
        reply = self.reply(answer, number)
        begun = {**reply, "content": [], "stop_reason": None}
        events: list[dict[str, Any]] = [{"type": "message_start", "message": begun}]
        for index, block in enumerate(reply["content"]):
            events += _block_events(block, index)
        if not answer.is_cut:
            delta = {"stop_reason": reply["stop_reason"], "stop_sequence": None}
            events += [
                {"type": "message_delta", "delta": delta, "usage": {"output_tokens": 3}},
                {"type": "message_stop"},
            ]
        return [f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events]


def _blocks(answer: Answer, number: int) -> Iterator[dict[str, Any]]:
    if answer.thinking:
        yield {"type": "thinking", "thinking": answer.thinking, "signature": f"signed {number}"}
    if answer.text:
        yield {"type": "text", "text": answer.text, "citations": None}
    for index, call in enumerate(answer.calls):
        call_id = f"toolu_{number}_{index}" if call.id is None else call.id
        yield {"type": "tool_use", "id": call_id, "name": call.name, "input": dict(call.arguments)}


def _block_events(block: dict[str, Any], index: int) -> Iterator[dict[str, Any]]:
    empty: dict[str, Any] = {
        "text": {"text": ""},
        "thinking": {"thinking": "", "signature": ""},
        "tool_use": {"input": {}},
    }
    yield {"type": "content_block_start", "index": index, "content_block": {**block, **empty[block["type"]]}}
    deltas: list[dict[str, Any]]
    match block["type"]:
        case "text":
            deltas = [{"type": "text_delta", "text": word} for word in re.findall(r"\s*\S+", block["text"])]
        case "thinking":
            deltas = [
                {"type": "thinking_delta", "thinking": block["thinking"]},
                {"type": "signature_delta", "signature": block["signature"]},
            ]
        case _:
            deltas = [{"type": "input_json_delta", "partial_json": json.dumps(block["input"])}]
    for delta in deltas:
        yield {"type": "content_block_delta", "index": index, "delta": delta}
    yield {"type": "content_block_stop", "index": index}


def _problems(messages: list[dict[str, Any]], *, thinks: bool) -> Iterator[str]:
    """Each rule is one of the API's own refusals; messages of one role in a row are one message there."""
    if not messages or messages[0]["role"] != "user":
        yield "messages: the first message must use the user role"
    for number, message in enumerate(messages):
        blocks = _as_blocks(message["content"])
        if not blocks:
            yield f"messages.{number}: all messages must have non-empty content"
        if any(block["type"] == "text" and not block["text"].strip() for block in blocks):
            yield f"messages.{number}: text content blocks must be non-empty"
    merged = _merged(messages)
    yield from _problems_of_calls(merged)
    yield from _problems_of_thoughts(merged, thinks=thinks)


def _merged(messages: list[dict[str, Any]]) -> list[tuple[str, list[dict[str, Any]]]]:
    merged: list[tuple[str, list[dict[str, Any]]]] = []
    for message in messages:
        blocks = _as_blocks(message["content"])
        if merged and merged[-1][0] == message["role"]:
            merged[-1][1].extend(blocks)
        else:
            merged.append((message["role"], list(blocks)))
    return merged


def _problems_of_calls(merged: list[tuple[str, list[dict[str, Any]]]]) -> Iterator[str]:
    used: list[str] = []
    waiting: list[str] = []
    for number, (role, blocks) in enumerate(merged):
        results = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
        if waiting and set(waiting) - set(results):
            yield f"messages.{number}: tool_use ids without tool_result blocks immediately after: {waiting}"
        if set(results) - set(waiting):
            yield f"messages.{number}: unexpected tool_use_id found in tool_result blocks: {results}"
        if results and any(block["type"] != "tool_result" for block in blocks[: len(results)]):
            yield f"messages.{number}: tool_result blocks must come first"
        waiting = [block["id"] for block in blocks if block["type"] == "tool_use"]
        used += waiting
        if role != "assistant" and waiting:
            yield f"messages.{number}: only an assistant uses tools"
        if not all(_ID.match(call_id) for call_id in waiting):
            yield f"messages.{number}: tool_use.id must match {_ID.pattern}"
    if waiting:
        yield f"tool_use ids without tool_result blocks: {waiting}"
    if len(set(used)) < len(used):
        yield "tool_use ids must be unique"


def _problems_of_thoughts(merged: list[tuple[str, list[dict[str, Any]]]], *, thinks: bool) -> Iterator[str]:
    for number, (role, blocks) in enumerate(merged):
        if role != "assistant":
            continue
        calls = any(block["type"] == "tool_use" for block in blocks)
        is_of_this_turn = all(block["type"] == "tool_result" for _, later in merged[number + 1 :: 2] for block in later)
        if thinks and calls and is_of_this_turn and blocks[0]["type"] not in {"thinking", "redacted_thinking"}:
            yield f"messages.{number}.content.0.type: expected `thinking`, but found `{blocks[0]['type']}`"
        if any(block["type"] == "thinking" and not block.get("signature") for block in blocks):
            yield f"messages.{number}: thinking without its signature"


def _as_blocks(content: Any) -> list[dict[str, Any]]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    return list(content)
