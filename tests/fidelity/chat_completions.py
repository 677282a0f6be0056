"""OpenAI's Chat Completions as Azure and most compatible servers speak it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from tests.fidelity.script import Answer

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}\Z")
_FINISH = {"stop": "stop", "length": "length", "content_filter": "content_filter"}


class ChatCompletions:
    """The wire of `/chat/completions`."""

    path = "/v1/chat/completions"

    def problems(self, body: dict[str, Any], kept: Sequence[dict[str, Any]]) -> list[str]:
        return list(_problems(body["messages"]))

    def items(self, body: dict[str, Any]) -> list[dict[str, Any]]:
        messages: list[dict[str, Any]] = body["messages"]
        return messages

    def kept(self, reply: dict[str, Any]) -> list[dict[str, Any]]:
        return []

    def reply(self, answer: Answer, number: int) -> dict[str, Any]:
        message = {"role": "assistant", "content": answer.text or None, **_calls(answer, number)}
        choice = {"index": 0, "message": message, "finish_reason": _finish(answer)}
        usage = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}
        return {**_base(number), "object": "chat.completion", "choices": [choice], "usage": usage}

    def events(self, answer: Answer, number: int) -> list[str]:
        deltas: list[dict[str, Any]] = [
            {"role": "assistant", "content": word} for word in re.findall(r"\s*\S+", answer.text)
        ]
        for index, call in enumerate(_calls(answer, number).get("tool_calls", ())):
            arguments = call["function"]["arguments"]
            first = {**call, "index": index, "function": {"name": call["function"]["name"], "arguments": ""}}
            deltas.append({"role": "assistant", "tool_calls": [first]})
            deltas.append({"tool_calls": [{"index": index, "function": {"arguments": arguments}}]})
        chunks = [_chunk(number, delta, None) for delta in deltas]
        return chunks if answer.is_cut else [*chunks, _chunk(number, {}, _finish(answer)), "data: [DONE]\n\n"]


def _base(number: int) -> dict[str, Any]:
    return {"id": f"chatcmpl-{number}", "created": 1, "model": "m"}


def _calls(answer: Answer, number: int) -> dict[str, Any]:
    calls = [
        {
            "id": f"call_{number}_{index}" if call.id is None else call.id,
            "type": "function",
            "function": {"name": call.name, "arguments": json.dumps(call.arguments)},
        }
        for index, call in enumerate(answer.calls)
    ]
    return {"tool_calls": calls} if calls else {}


def _finish(answer: Answer) -> str:
    return "tool_calls" if answer.calls else _FINISH[answer.finish]


def _chunk(number: int, delta: dict[str, Any], finish: str | None) -> str:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return f"data: {json.dumps({**_base(number), 'object': 'chat.completion.chunk', 'choices': [choice]})}\n\n"


def _problems(messages: list[dict[str, Any]]) -> Iterator[str]:
    if not any(message["role"] == "user" for message in messages):
        yield "messages: there is no user message"
    waiting: list[str] = []
    for number, message in enumerate(messages):
        place, role, content = f"messages[{number}]", message["role"], message.get("content")
        if role not in {"system", "developer", "user", "assistant", "tool"}:
            yield f"{place}: role {role!r}"
        if not content and not (role == "assistant" and (message.get("tool_calls") or message.get("refusal"))):
            yield f"{place}: content is empty"
        if role == "tool":
            if message.get("tool_call_id") not in waiting:
                yield f"{place}: a 'tool' message must answer a preceding message with 'tool_calls'"
            else:
                waiting.remove(message["tool_call_id"])
            continue
        if waiting:
            yield f"{place}: tool_call_ids without a response: {waiting}"
        calls = message.get("tool_calls") or []
        waiting = [call["id"] for call in calls]
        if role != "assistant" and calls:
            yield f"{place}: only an assistant calls tools"
        if len(set(waiting)) < len(waiting) or not all(waiting):
            yield f"{place}: ids of tool_calls are empty or twice: {waiting}"
        if not all(_NAME.match(call["function"]["name"]) for call in calls):
            yield f"{place}: the name of a function"
    if waiting:
        yield f"tool_call_ids without a response: {waiting}"
