"""Calls of the caller's tools as this protocol has them; `hosting.http.wire_calls` has what they are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from hosting.core.thread.events import Completed
from hosting.core.thread.run import Run
from hosting.core.transcript import arguments_text
from hosting.http.client_tools import read_output
from hosting.http.wire_calls import OwnConversation, Result, answer_id, last_results


def shown_calls(run: Run) -> list[dict[str, Any]]:
    """Return the calls in which a run ended, in the protocol's form."""
    return [
        {
            "id": answer_id(approval.id, run),
            "type": "function",
            "function": {"name": approval.tool, "arguments": arguments_text(approval.arguments)},
        }
        for approval in (run.end.approvals if isinstance(run.end, Completed) else ())
    ]


def read_results(messages: Sequence[Mapping[str, Any]]) -> tuple[Result, ...]:
    """Return the results with which a request ends, which are of one thread; raises `HostingError`s by their place."""
    return last_results(
        "messages", messages, lambda message: message.get("role") == "tool", "tool_call_id", read_content
    )


def read_content(where: str, message: Mapping[str, Any]) -> str:
    """Return the text of a result; raises `InvalidFieldError`."""
    return read_output(f"{where}.content", message.get("content"), "text")


def add_calls(conversation: OwnConversation, where: str, sent: object) -> None:
    """Add the calls of an assistant's message to the conversation; raises `InvalidFieldError`."""
    items: Iterable[Any] = sent if isinstance(sent, list) else [sent]
    for number, item in enumerate(items):
        call = item if isinstance(item, dict) else {}
        function = call["function"] if isinstance(call.get("function"), dict) else {}
        place = f"{where}.tool_calls[{number}]"
        conversation.call(place, call.get("id"), function.get("name"), function.get("arguments"))
