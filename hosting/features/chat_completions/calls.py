"""Calls of the caller's tools: their ids, their results in a request, and the caller's copy of earlier ones.

Theory. A run that calls tools of its caller ends, and its thread waits. The id of a call says where it is answered: the
approval and the thread, never the owner, so each caller reaches threads of their own alone. A request that ends with
results answers that thread in any process, however late; its other messages are a copy of what the thread has. Calls
and results before the last message are of a conversation that the caller has alone, and the model reads them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import takewhile
from typing import Any

from agent_framework import Content
from msgspec import Struct

from hosting.core.request.fields import read_decision
from hosting.core.thread.events import Completed, Terminal
from hosting.core.thread.run import Run
from hosting.core.thread.run_request import Decision, PendingApproval, UserMessage
from hosting.core.transcript import arguments_text
from hosting.errors import InvalidFieldError
from hosting.http.client_tools import read_output
from hosting.http.wire_openai import NotServedError
from hosting.names import is_id
from state.convert import content_value

_ID = re.compile("call_([0-9a-f]{32})~(.{1,200})")


class Result(Struct, frozen=True):
    """The result of a call that a thread waits for, and `where` it stands in the request."""

    where: str
    thread_id: str
    decision: Decision


def awaits_results(end: Terminal | None) -> bool:
    """Return whether a run ended with calls of the caller's tools, and waits for nobody else."""
    approvals = end.approvals if isinstance(end, Completed) else ()
    return bool(approvals) and all(approval.kind == "client_tool" for approval in approvals)


def answer_id(approval: PendingApproval, run: Run) -> str:
    """Return the id under which the caller answers a call of the run."""
    return f"call_{approval.id}~{run.accepted.thread_id}"


def shown_calls(run: Run) -> list[dict[str, Any]]:
    """Return the calls in which a run ended, in the protocol's form."""
    return [
        {
            "id": answer_id(approval, run),
            "type": "function",
            "function": {"name": approval.tool, "arguments": arguments_text(approval.arguments)},
        }
        for approval in (run.end.approvals if isinstance(run.end, Completed) else ())
    ]


def read_results(messages: Sequence[Mapping[str, Any]]) -> tuple[Result, ...]:
    """Return the results with which a request ends, which are of one thread; raises `HostingError`s by their place."""
    count = sum(1 for _ in takewhile(lambda message: message.get("role") == "tool", reversed(messages)))
    results: dict[str, Result] = {}
    for number in range(len(messages) - count, len(messages)):
        result = _result(f"messages[{number}]", messages[number])
        if any(other.thread_id != result.thread_id for other in results.values()):
            raise NotServedError(f"{result.where} is of another conversation than the result before it.", "messages")
        if result.decision.id in results:
            raise NotServedError(f"{result.where} is a second result of the same call. Send one.", "messages")
        results[result.decision.id] = result
    return tuple(results.values())


def _result(where: str, message: Mapping[str, Any]) -> Result:
    name = message.get("tool_call_id")
    match = _ID.fullmatch(name) if isinstance(name, str) else None
    if match is None or not is_id(match[2]):
        raise NotServedError(
            f"{where}.tool_call_id is {name!r:.80}, which is no call of this app. Send the ids of 'tool_calls' as they "
            "are.",
            "messages",
        )
    value = read_output(f"{where}.content", message.get("content"), "text")
    return Result(where, match[2], read_decision({"id": match[1], "value": value}))


class EarlierCalls:
    """The calls of a conversation that the caller has alone: each has its result before the next message."""

    def __init__(self) -> None:
        self._open: dict[str, str] = {}

    def made(self, where: str, calls: object) -> list[dict[str, Any]]:
        """Return the calls of an assistant's message in stored form; raises `InvalidFieldError`."""
        items: Iterable[Any] = calls if isinstance(calls, list) else [calls]
        return [self._made(f"{where}.tool_calls[{number}]", item) for number, item in enumerate(items)]

    def _made(self, where: str, item: object) -> dict[str, Any]:
        call = item if isinstance(item, dict) else {}
        function = call.get("function")
        texts = [call.get("id"), *(function.get(name) for name in ("name", "arguments") if isinstance(function, dict))]
        if len(texts) < 3 or not all(isinstance(text, str) for text in texts) or not (texts[0] and texts[1]):
            raise InvalidFieldError(f"{where} is no call of a function with id, name and arguments. Send it as it was.")
        self._open[str(texts[0])] = where
        return content_value(Content.from_function_call(str(texts[0]), str(texts[1]), arguments=texts[2]))

    def ended(self, where: str, message: Mapping[str, Any]) -> UserMessage:
        """Return the result of an earlier call; raises `InvalidFieldError` without that call."""
        name = message.get("tool_call_id")
        if not isinstance(name, str) or self._open.pop(name, None) is None:
            raise InvalidFieldError(
                f"{where}.tool_call_id is {name!r:.80}, which is no open call of the message before it. Send results "
                "behind their calls."
            )
        text = read_output(f"{where}.content", message.get("content"), "text")
        return UserMessage(contents=(content_value(Content.from_function_result(name, result=text)),), role="tool")

    def check(self) -> None:
        """Raise `InvalidFieldError` if a call has no result, which no model takes."""
        for where in self._open.values():
            raise InvalidFieldError(f"{where} has no result. Send one of role 'tool' before the next message.")
