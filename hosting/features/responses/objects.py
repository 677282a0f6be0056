"""The protocol's objects as projections of a run: responses, items, lists of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hosting.core.thread.events import Cancelled, Completed, Terminal
from hosting.core.thread.finish import finish_reason, is_incomplete
from hosting.core.thread.run import Run
from hosting.core.thread.run_request import PendingApproval, ResponseFormat, UserMessage
from hosting.core.transcript import arguments_text
from hosting.errors import InvalidFieldError
from hosting.features.responses.names import conversation_id, response_id
from hosting.http.replies import first_page
from state.contents import TOKEN_COUNTS

MOST_ITEMS = 100
_DEFAULT_ITEMS = 20
_UNSET = dict.fromkeys(("instructions", "max_output_tokens", "temperature", "top_p"))
_OF_THE_AGENT: Mapping[str, Any] = {**_UNSET, "parallel_tool_calls": True, "tools": [], "truncation": "disabled"}
"""Members that are the same in every response: an agent has instructions, tools and options of its own."""

_INCOMPLETE = {"length": "max_output_tokens"} | {word: word for word in ("content_filter", "max_messages", "steered")}


def response_object(agent: str, run: Run, output: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the response of a run with that output, and with the caller's fields besides the request."""
    accepted, end = run.accepted, run.end
    wire = accepted.wire or {}
    conversation = {"id": conversation_id(accepted.agent, accepted.thread_id)}
    return {
        "id": response_id(run),
        "object": "response",
        "created_at": int(accepted.at),
        "completed_at": int(end.at) if isinstance(end, Completed) and not is_incomplete(end) else None,
        "status": _status(run, end),
        "background": bool(wire.get("background")),
        "conversation": conversation if wire.get("in_conversation") else None,
        "error": _error(end),
        "incomplete_details": _incomplete_details(end),
        "metadata": wire.get("metadata") or {},
        "model": agent,
        "output": output,
        "previous_response_id": wire.get("previous_response_id"),
        "text": {"format": _format(accepted.request.response_format)},
        "tool_choice": "auto" if accepted.request.enable_tool_calls else "none",
        "usage": _usage(end),
        **_OF_THE_AGENT,
    }


def _status(run: Run, end: Terminal | None) -> str:
    if end is None:
        return "queued" if run.claim is None else "in_progress"
    if isinstance(end, Completed):
        return "incomplete" if is_incomplete(end) else "completed"
    return "cancelled" if isinstance(end, Cancelled) else "failed"


def _incomplete_details(end: Terminal | None) -> dict[str, Any] | None:
    """Return why an answer is no whole one; where the protocol has no word for it, `type` is the model's own."""
    if not is_incomplete(end):
        return None
    reason = finish_reason(end)
    return {"reason": _INCOMPLETE[str(reason)]} if reason in _INCOMPLETE else {"reason": None, "type": reason}


def _error(end: Terminal | None) -> dict[str, Any] | None:
    """Return why a run failed; `type` is our own code, for the protocol has a list of its own."""
    if end is None or isinstance(end, Completed | Cancelled):
        return None
    return {"code": "server_error", "message": end.detail, "type": end.code}


def _format(response_format: ResponseFormat | None) -> dict[str, Any]:
    if response_format is None:
        return {"type": "text"}
    envelope = response_format.envelope()
    return {"type": envelope["type"], **envelope.get("json_schema", {})}


def _usage(end: Terminal | None) -> dict[str, Any] | None:
    stored = (end.usage or end.entry.get("usage")) if end is not None else None
    if not stored:
        return None
    counts = [int(stored.get(name) or 0) for name in TOKEN_COUNTS]
    return {
        "input_tokens": counts[0],
        "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
        "output_tokens": counts[1],
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": counts[2],
    }


def approval_item(agent: str, approval: PendingApproval) -> dict[str, Any]:
    """Return the request for a person's approval of a tool call."""
    return {
        "id": f"mcpr_{approval.id}",
        "type": "mcp_approval_request",
        "server_label": agent,
        "name": approval.tool,
        "arguments": arguments_text(approval.arguments),
    }


def input_items(run: Run) -> list[dict[str, Any]]:
    """Return the messages and decisions that a run answers, oldest first."""
    request, run_id = run.accepted.request, run.run_id
    if request.decisions:
        return [
            {
                "id": f"mcpa_{run_id}_{number}",
                "type": "mcp_approval_response",
                "approval_request_id": f"mcpr_{decision.id}",
                "approve": decision.approved,
                "reason": decision.reason,
            }
            for number, decision in enumerate(request.decisions)
        ]
    return [
        {
            "id": f"msg_{run_id}_in{number}",
            "type": "message",
            "role": message.role,
            "status": "completed",
            "content": _parts(message),
        }
        for number, message in enumerate((*request.earlier, request))
    ]


def _parts(message: UserMessage) -> list[dict[str, Any]]:
    texts = [{"$type": "text", "text": message.message}] if message.message else []
    return [_part(content, message.role) for content in (*texts, *message.contents)]


def _part(content: Mapping[str, Any], role: str) -> dict[str, Any]:
    kind, uri = content.get("$type"), content.get("uri") or ""
    if kind == "text" and role == "assistant":
        return {"type": "output_text", "text": content["text"], "annotations": [], "logprobs": []}
    if kind == "text":
        return {"type": "input_text", "text": content["text"]}
    if kind == "hostedFile":
        return {"type": "input_file", "file_id": content["fileId"]}
    if str(content.get("mediaType")).startswith("image/"):
        return {"type": "input_image", "image_url": uri, "detail": "auto"}
    name = {"filename": content["name"]} if content.get("name") else {}
    return {"type": "input_file", "file_data": uri, **name}


def page(items: Sequence[dict[str, Any]], query: Mapping[str, str]) -> dict[str, Any]:
    """Return the part of a list that a query wants: `order` (newest first without it), `after` an id, `limit`.

    `items` are the oldest first. A page ends at its bytes too. Raises `InvalidFieldError`.
    """
    order, after, limit = query.get("order", "desc"), query.get("after"), query.get("limit", str(_DEFAULT_ITEMS))
    if order not in ("asc", "desc"):
        raise InvalidFieldError(f"The query 'order' is {order[:80]!r}. Send 'asc' or 'desc'.")
    if not (limit.isascii() and limit.isdigit() and len(limit) < 4 and 1 <= int(limit) <= MOST_ITEMS):
        raise InvalidFieldError(f"The query 'limit' is {limit[:80]!r}. Send 1 to {MOST_ITEMS}.")
    ordered = list(items if order == "asc" else reversed(items))
    if after is not None:
        ids = [item["id"] for item in ordered]
        if after not in ids:
            raise InvalidFieldError(f"The query 'after' is {after[:80]!r}, which is not an id of this list.")
        ordered = ordered[ids.index(after) + 1 :]
    shown = first_page(ordered[: int(limit)])
    return {
        "object": "list",
        "data": shown,
        "first_id": shown[0]["id"] if shown else "",
        "last_id": shown[-1]["id"] if shown else "",
        "has_more": len(shown) < len(ordered),
    }
