"""The protocol's objects as projections of a run: responses, items, lists of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from hosting.client_tools import result_text
from hosting.core.thread.events import Cancelled, Completed, Joined, Terminal
from hosting.core.thread.finish import finish_reason, is_incomplete
from hosting.core.thread.run import Run
from hosting.core.thread.run_request import Decision, PendingApproval, ResponseFormat, UserMessage
from hosting.core.transcript import arguments_text
from hosting.features.responses.names import conversation_id, response_id
from hosting.http.client_tools import shown_functions
from hosting.http.wire_calls import answer_id, message_items
from hosting.http.wire_openai import openai_usage
from hosting.http.wire_options import ONE_CALL, shown_choice
from hosting.metadata import texts_of

_OPTIONS = {name: name for name in ("instructions", "temperature", "top_p")} | {"max_output_tokens": "max_tokens"}
_INCOMPLETE = {"length": "max_output_tokens"} | {word: word for word in ("content_filter", "max_messages", "steered")}


def response_object(agent: str, run: Run, output: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the response of a run with that output, and with the caller's fields besides the request."""
    accepted, end = run.accepted, run.end
    wire, options = accepted.wire or {}, accepted.request.options
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
        "incomplete_details": _incomplete_details(run, end),
        "metadata": {**texts_of(accepted.request.metadata), **(wire.get("metadata") or {})},
        "model": agent,
        "output": output,
        "previous_response_id": wire.get("previous_response_id"),
        "text": {"format": _format(accepted.request.response_format)},
        "tools": shown_functions(accepted.request.client_tools),
        "tool_choice": shown_choice(options) if accepted.request.enable_tool_calls else "none",
        "parallel_tool_calls": options.get(ONE_CALL, True),
        "truncation": "disabled",
        "usage": openai_usage(end, "input", "output", cache_write_tokens=0),
        **{member: options.get(name) for member, name in _OPTIONS.items()},
    }


def _status(run: Run, end: Terminal | None) -> str:
    if end is None:
        return "queued" if run.claim is None else "in_progress"
    if isinstance(end, Completed | Joined):
        return "incomplete" if isinstance(end, Joined) or is_incomplete(end) else "completed"
    return "cancelled" if isinstance(end, Cancelled) else "failed"


def _incomplete_details(run: Run, end: Terminal | None) -> dict[str, Any] | None:
    """Return why an answer is no whole one; where the protocol has no word for it, `type` is the model's own.

    One whose message joined the response before has no output: that one has the id `response_id`.
    """
    if isinstance(end, Joined):
        return {"reason": "steered", "type": end.code, "response_id": response_id(run, end.into)}
    if not is_incomplete(end):
        return None
    reason = finish_reason(end)
    return {"reason": _INCOMPLETE[str(reason)]} if reason in _INCOMPLETE else {"reason": None, "type": reason}


def _error(end: Terminal | None) -> dict[str, Any] | None:
    """Return why a run failed; `type` is our own code, for the protocol has a list of its own."""
    if end is None or isinstance(end, Completed | Cancelled | Joined):
        return None
    return {"code": "server_error", "message": end.detail, "type": end.code}


def _format(response_format: ResponseFormat | None) -> dict[str, Any]:
    if response_format is None:
        return {"type": "text"}
    envelope = response_format.envelope()
    return {"type": envelope["type"], **envelope.get("json_schema", {})}


def approval_item(agent: str, approval: PendingApproval, run: Run) -> dict[str, Any]:
    """Return the request for a person's approval of a tool call or for a sign-in, or the call of a caller's function.

    Foundry has an item of its own for a sign-in, which OpenAI's clients do not know and agent-framework's drops.
    """
    arguments = arguments_text(approval.arguments)
    if approval.kind == "client_tool":
        call = {"call_id": answer_id(approval.id, run), "name": approval.tool, "arguments": arguments}
        return {"id": f"fc_{approval.id}", "type": "function_call", **call, "status": "completed"}
    name, wanted = approval.tool, approval.authorization
    if wanted is not None:
        name, arguments = approval.kind, arguments_text(wanted.shown())
    return {
        "id": f"mcpr_{approval.id}",
        "type": "mcp_approval_request",
        "server_label": agent,
        "name": name,
        "arguments": arguments,
    }


def input_items(run: Run) -> list[dict[str, Any]]:
    """Return the messages and decisions that a run answers, oldest first."""
    request, run_id = run.accepted.request, run.run_id
    if request.decisions:
        return [_answer(f"{run_id}_{number}", decision, run) for number, decision in enumerate(request.decisions)]
    return items_of(run_id, (*request.earlier, request))


def items_of(name: str, messages: Iterable[UserMessage]) -> list[dict[str, Any]]:
    """Return the messages that a run was asked, or that were put in together, under ids with that name."""
    numbered = enumerate(messages)
    return [item for number, message in numbered for item in message_items(f"{name}_in{number}", message)]


def _answer(name: str, decision: Decision, run: Run) -> dict[str, Any]:
    """Return an answer to a call: a decision, or the result of a caller's function."""
    if decision.value is None and decision.error is None:
        return {
            "id": f"mcpa_{name}",
            "type": "mcp_approval_response",
            "approval_request_id": f"mcpr_{decision.id}",
            "approve": decision.approved,
            "reason": decision.reason,
        }
    output = {
        "call_id": answer_id(decision.id, run),
        "output": result_text(decision.value, decision.error, decision.reason),
        "status": "completed",
    }
    return {"id": f"fco_{name}", "type": "function_call_output", **output}
