"""OpenAI's Responses, which can keep the conversation itself."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from tests.fidelity.script import Answer


class Responses:
    """The wire of `/responses`."""

    path = "/v1/responses"

    def problems(self, body: dict[str, Any], kept: Sequence[dict[str, Any]]) -> list[str]:
        found = list(_problems([*kept, *self.items(body)], stores=body.get("store") is not False))
        if body.get("previous_response_id") and not kept:
            found.append(f"previous_response_id: {body['previous_response_id']} is not found")
        return found

    def items(self, body: dict[str, Any]) -> list[dict[str, Any]]:
        items: list[dict[str, Any]] = body["input"]
        return items

    def kept(self, reply: dict[str, Any]) -> list[dict[str, Any]]:
        output: list[dict[str, Any]] = reply["output"]
        return output

    def reply(self, answer: Answer, number: int) -> dict[str, Any]:
        output = list(_output(answer, number))
        reason = {"length": "max_output_tokens", "content_filter": "content_filter"}.get(answer.finish)
        return {
            "id": f"resp_{number}",
            "object": "response",
            "created_at": 1,
            "model": "m",
            "status": "incomplete" if reason else "completed",
            "incomplete_details": {"reason": reason} if reason else None,
            "output": output,
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": [],
            "usage": {
                "input_tokens": 7,
                "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
                "output_tokens": 3,
                "output_tokens_details": {"reasoning_tokens": 0},
                "total_tokens": 10,
            },
        }

    def events(self, answer: Answer, number: int) -> list[str]:
        reply = self.reply(answer, number)
        begun = {**reply, "status": "in_progress", "output": [], "usage": None, "incomplete_details": None}
        events: list[dict[str, Any]] = [{"type": "response.created", "response": begun}]
        for index, item in enumerate(reply["output"]):
            events += _item_events(item, index)
        end = {"type": f"response.{reply['status']}", "response": reply}
        events += [] if answer.is_cut else [end]
        return [
            f"event: {event['type']}\ndata: {json.dumps({**event, 'sequence_number': sequence})}\n\n"
            for sequence, event in enumerate(events)
        ]


def _output(answer: Answer, number: int) -> Iterator[dict[str, Any]]:
    if answer.thinking:
        yield {
            "type": "reasoning",
            "id": f"rs_{number}",
            "summary": [{"type": "summary_text", "text": answer.thinking}],
            "encrypted_content": f"sealed {number}",
            "status": "completed",
        }
    for index, tool in enumerate(answer.hosted):
        action = {"type": "search", "query": "q", "queries": ["q"]}
        yield {"type": f"{tool}_call", "id": f"ws_{number}_{index}", "status": "completed", "action": action}
    if answer.text:
        part = {"type": "output_text", "text": answer.text, "annotations": [], "logprobs": []}
        status = "completed" if answer.finish == "stop" else "incomplete"
        yield {"type": "message", "id": f"msg_{number}", "role": "assistant", "status": status, "content": [part]}
    for index, call in enumerate(answer.calls):
        yield {
            "type": "function_call",
            "id": f"fc_{number}_{index}",
            "call_id": f"call_{number}_{index}" if call.id is None else call.id,
            "name": call.name,
            "arguments": json.dumps(call.arguments),
            "status": "completed",
        }


def _item_events(item: dict[str, Any], index: int) -> Iterator[dict[str, Any]]:
    place = {"output_index": index, "item_id": item["id"]}
    begun = {**item, "status": "in_progress"}
    match item["type"]:
        case "message":
            part = item["content"][0]
            yield _added({**begun, "content": []}, index)
            place["content_index"] = 0
            yield {"type": "response.content_part.added", **place, "part": {**part, "text": ""}}
            for word in re.findall(r"\s*\S+", part["text"]):
                yield {"type": "response.output_text.delta", **place, "delta": word, "logprobs": []}
            yield {"type": "response.output_text.done", **place, "text": part["text"], "logprobs": []}
            yield {"type": "response.content_part.done", **place, "part": part}
        case "function_call":
            yield _added({**begun, "arguments": ""}, index)
            yield {"type": "response.function_call_arguments.delta", **place, "delta": item["arguments"]}
            arguments = {"arguments": item["arguments"], "name": item["name"]}
            yield {"type": "response.function_call_arguments.done", **place, **arguments}
        case "reasoning":
            yield _added({**begun, "summary": [], "encrypted_content": None}, index)
            summary = {**place, "summary_index": 0}
            part = item["summary"][0]
            yield {"type": "response.reasoning_summary_part.added", **summary, "part": {**part, "text": ""}}
            yield {"type": "response.reasoning_summary_text.delta", **summary, "delta": part["text"]}
            yield {"type": "response.reasoning_summary_text.done", **summary, "text": part["text"]}
            yield {"type": "response.reasoning_summary_part.done", **summary, "part": part}
        case _:
            yield _added(begun, index)
    yield {"type": "response.output_item.done", "output_index": index, "item": item}


def _added(item: dict[str, Any], index: int) -> dict[str, Any]:
    return {"type": "response.output_item.added", "output_index": index, "item": item}


def _problems(items: list[dict[str, Any]], *, stores: bool) -> Iterator[str]:
    """Each rule is one of the API's own refusals, with its words."""
    if not items:
        yield "input: is empty"
    ids = [item["id"] for item in items if item.get("id")]
    for item_id in sorted({item_id for item_id in ids if ids.count(item_id) > 1}):
        yield f"Duplicate item found with id {item_id}."
    called = [item["call_id"] for item in items if item.get("type") == "function_call"]
    answered = [item["call_id"] for item in items if item.get("type") == "function_call_output"]
    if not all(called) or len(set(called)) < len(called):
        yield f"call_id is empty or twice: {called}"
    for call_id in called:
        if call_id not in answered:
            yield f"No tool output found for function call {call_id}."
    for call_id in answered:
        if call_id not in called:
            yield f"No tool call found for function call output with call_id {call_id}."
    for number, item in enumerate(items):
        following = items[number + 1] if number + 1 < len(items) else {}
        if item.get("type") == "reasoning":
            if following.get("type") == "function_call_output" or following.get("role") == "user" or not following:
                yield f"Item {item.get('id')} of type 'reasoning' was provided without its required following item."
            if not stores and not item.get("encrypted_content"):
                yield f"Item {item.get('id')} not found: items are not kept when `store` is false."
        if item.get("type", "message") == "message" and not item.get("content"):
            yield f"input[{number}]: content is empty"
