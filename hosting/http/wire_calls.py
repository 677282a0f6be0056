"""Calls of the caller's tools in OpenAI's protocols: their ids, their results, and the caller's copy of earlier ones.

Theory. A run that calls tools of its caller ends, and its thread waits. The id of a call says where it is answered: the
approval and the thread, never the owner, so each caller reaches threads of their own alone. A request that ends with
results answers that thread in any process, however late; its other messages are a copy of what the thread has. Calls
and results before the last message are of a conversation that the caller has alone, and the model reads them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import takewhile
from typing import Any

from agent_framework import Content
from msgspec import Struct

from hosting.core.request.fields import read_decision
from hosting.core.thread.run import Run
from hosting.core.thread.run_request import Decision, UserMessage
from hosting.core.transcript import arguments_text
from hosting.errors import InvalidFieldError
from hosting.http.client_tools import read_output
from hosting.http.wire_openai import NotServedError
from hosting.http.wire_replies import input_parts
from hosting.names import is_id
from state.convert import content_value

_ID = re.compile("call_([0-9a-f]{32})~(.{1,200})")


_CALL, OUTPUT, _MADE = "function_call", "function_call_output", "mcp_call"
"""The types of items with a call, with its result, and with a call that the agent's own tool answered."""

_ITEMS = {"functionCall": _CALL, "functionResult": OUTPUT}
"""The types of items by the stored contents that they are made of."""

_THOUGHT = "reasoning"
"""The type of items that show what a model thought. The model does not get them again: they are no more than shown."""


class Result(Struct, frozen=True):
    """The result of a call that a thread waits for, and `where` it stands in the request."""

    where: str
    thread_id: str
    decision: Decision


def answer_id(approval_id: str, run: Run) -> str:
    """Return the id under which the caller answers a call of the run."""
    return f"call_{approval_id}~{run.accepted.thread_id}"


def last_results(
    param: str,
    items: Sequence[Mapping[str, Any]],
    is_result: Callable[[Mapping[str, Any]], bool],
    member: str,
    read_value: Callable[[str, Mapping[str, Any]], str],
) -> tuple[Result, ...]:
    """Return the results with which a request ends, which are of one thread; `member` of each has the call's id.

    `param` is where they stand in the request, and `read_value` returns one's text. Raises `HostingError`s.
    """
    count = sum(1 for _ in takewhile(is_result, reversed(items)))
    results: dict[str, Result] = {}
    for number in range(len(items) - count, len(items)):
        where, name = f"{param}[{number}]", items[number].get(member)
        match = _ID.fullmatch(name) if isinstance(name, str) else None
        if match is None or not is_id(match[2]):
            raise NotServedError(
                f"{where}.{member} is {name!r:.80}, which is no call of this app. Send the ids of its calls as they "
                "are.",
                param,
            )
        value = read_value(where, items[number])
        result = Result(where, match[2], read_decision({"id": match[1], "value": value}))
        if any(other.thread_id != result.thread_id for other in results.values()):
            raise NotServedError(f"{where} is of another conversation than the result before it.", param)
        if result.decision.id in results:
            raise NotServedError(f"{where} is a second result of the same call. Send one.", param)
        results[result.decision.id] = result
    return tuple(results.values())


class OwnConversation:
    """The messages of a conversation that the caller has alone: each call has its result before the next message.

    `param` is where they stand in the request.
    """

    def __init__(self, param: str) -> None:
        self._param = param
        self._messages: list[UserMessage] = []
        self._made: list[dict[str, Any]] = []
        self._open: dict[str, str] = {}

    def add(self, message: UserMessage) -> None:
        """Take a message; raises `InvalidFieldError` if a call before it has no result, which no model takes.

        A text of the agent beside its calls stands before them; agent-framework's client sends it behind them.
        """
        for where in () if message.role == "assistant" and self._made else self._open.values():
            raise InvalidFieldError(f"{where} has no result. Send it before the next message.")
        self._messages.append(message)

    def call(self, where: str, name: object, tool: object, arguments: object) -> None:
        """Take a call; a model takes those of one answer together. Raises `InvalidFieldError`."""
        if not (isinstance(name, str) and isinstance(tool, str) and isinstance(arguments, str) and name and tool):
            raise InvalidFieldError(f"{where} is no call of a function with id, name and arguments. Send it as it was.")
        self._open[name] = where
        self._made.append(content_value(Content.from_function_call(name, tool, arguments=arguments)))

    def result(self, where: str, member: str, name: object, text: str) -> None:
        """Take the result of a call, whose id is in that member; raises `InvalidFieldError` without the call."""
        if not isinstance(name, str) or self._open.pop(name, None) is None:
            raise InvalidFieldError(
                f"{where}.{member} is {name!r:.80}, which is no open call before it. Send results behind their calls."
            )
        if self._made:
            self._messages.append(UserMessage(contents=tuple(self._made), role="assistant"))
            self._made = []
        result = content_value(Content.from_function_result(name, result=text))
        self._messages.append(UserMessage(contents=(result,), role="tool"))

    def messages(self) -> list[UserMessage]:
        """Return them in their order; raises `HostingError`s if there is nothing for the agent to answer."""
        if not self._messages and not self._open:
            raise InvalidFieldError(
                f"The field {self._param!r} has nothing for the agent. Send a message of role 'user'."
            )
        if self._open or self._messages[-1].role in ("assistant", "tool"):
            raise NotServedError("The last message is the agent's. End with one for it to answer.", self._param)
        return self._messages


def item_results(param: str, items: Sequence[Mapping[str, Any]]) -> tuple[Result, ...]:
    """Return the results with which a list of items ends, as `last_results`."""
    return last_results(param, items, lambda item: item.get("type") == OUTPUT, "call_id", output_text)


def item_messages(
    param: str, items: Sequence[Mapping[str, Any]], read_message: Callable[[int, Mapping[str, Any]], UserMessage | None]
) -> list[UserMessage]:
    """Return the messages of a conversation that the caller alone has, in items.

    `read_message` returns that of an item, None for one to ignore. Raises `HostingError`s by their place.
    """
    conversation = OwnConversation(param)
    for number, item in enumerate(items):
        where, kind = f"{param}[{number}]", item.get("type")
        member = "id" if kind == _MADE else "call_id"
        if kind in (_CALL, _MADE):
            conversation.call(where, item.get(member), item.get("name"), item.get("arguments"))
        if kind == OUTPUT:
            conversation.result(where, member, item.get(member), output_text(where, item))
        elif kind == _MADE:
            error = item.get("error")
            text = output_text(where, {"output": item.get("output") or ""}) if error is None else str(error)
            conversation.result(where, member, item.get(member), text)
        elif kind not in (_CALL, _THOUGHT) and (message := read_message(number, item)) is not None:
            conversation.add(message)
    return conversation.messages()


def message_items(name: str, message: UserMessage) -> list[dict[str, Any]]:
    """Return a message as items, whose ids have that name: one for each call or result that it has, else one."""
    calls = [content for content in message.contents if content.get("$type") in _ITEMS]
    items = [
        {
            "id": f"{'fc' if 'name' in content else 'fco'}_{name}_{number}",
            "type": _ITEMS[content["$type"]],
            "call_id": content["callId"],
            **_members_of(content),
            "status": "completed",
        }
        for number, content in enumerate(calls)
    ]
    parts = {"role": message.role, "status": "completed", "content": input_parts(message)}
    return items or [{"id": f"msg_{name}", "type": "message", **parts}]


def _members_of(content: Mapping[str, Any]) -> dict[str, Any]:
    if content["$type"] == "functionResult":
        return {"output": str(content.get("result", ""))}
    return {"name": content["name"], "arguments": arguments_text(content.get("arguments"))}


def output_text(where: str, item: Mapping[str, Any]) -> str:
    """Return the text of a result; raises `InvalidFieldError`."""
    return read_output(f"{where}.output", item.get("output"))
