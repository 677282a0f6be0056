"""The MCP tool trigger `mcptool-<agent>`: the agent as a tool that keeps a conversation (http-api.md section 7)."""

from __future__ import annotations

import json
import logging
from typing import Any

import azure.durable_functions as df

from hosting.errors import BodyTooLargeError, HostingError, InternalError, InvalidFieldError, MissingMessageError
from hosting.functions.client import DurableEntityClient
from hosting.identity import check_thread_id
from hosting.names import mcp_function
from hosting.plan import AgentPlan, ToolPlan
from hosting.ports import EntityClient
from hosting.process.invocation import begin_invocation
from hosting.reply.run_replies import approval_fields, completed_text, ids, run_error, told_text
from hosting.request.run_call import RunCall, Wait, one_thread_id
from hosting.request.run_request import check_message
from hosting.requests import RunRequest
from hosting.run.runs import Runs
from hosting.run_record import RunRecord
from hosting.settings import Settings
from hosting.thread.events import Completed

logger = logging.getLogger(__name__)

_ESCAPED_BYTES = 6
_HEADERS_BYTES = 65_536
_INTERNAL = {"code": InternalError.code}
_THREAD_ARGUMENTS = ("threadId", "sessionId")
_PROPERTIES = json.dumps(
    [
        {
            "propertyName": "query",
            "propertyType": "string",
            "description": "What to ask the agent.",
            "isRequired": True,
        },
        {
            "propertyName": "threadId",
            "propertyType": "string",
            "description": "The conversation to go on with, from an earlier answer's thread_id.",
            "isRequired": False,
        },
        {
            "propertyName": "sessionId",
            "propertyType": "string",
            "description": "Another name of threadId.",
            "isRequired": False,
        },
    ]
)


def register_tool(app: df.DFApp, plan: AgentPlan, tool_plan: ToolPlan, runs: Runs, settings: Settings) -> None:
    """Register one agent as the MCP tool that was planned for it."""

    async def tool(context: str, client: Any) -> str:
        begin_invocation()
        return await call_tool(context, plan, runs, settings, DurableEntityClient(client))

    trigger = app.mcp_tool_trigger(
        arg_name="context",
        tool_name=tool_plan.name,
        description=tool_plan.description,
        tool_properties=_PROPERTIES,
        use_result_schema=True,
    )
    app.function_name(mcp_function(plan.name))(trigger(app.durable_client_input(client_name="client")(tool)))


async def call_tool(context: str, plan: AgentPlan, runs: Runs, settings: Settings, client: EntityClient) -> str:
    """Return the tool result for the trigger's text; whatever goes wrong is a tool error with our sentence."""
    try:
        most = settings.max_body_bytes
        # JSON escapes a byte to six at most: what is longer holds too much, and is not even read.
        _check_size(len(context), _ESCAPED_BYTES * most + _HEADERS_BYTES)
        call = parse_call(json.loads(context).get("arguments") or {}, plan.name)
        _check_size(len(call.request.message.encode()), most)
        attached = await runs.start(plan.name, call, client)
        record = await runs.wait(attached.record, client, settings.wait_seconds)
        return _tool_result(record, plan, settings)
    except HostingError as error:
        return _envelope(error.detail, {"code": error.code}, is_error=True)
    except Exception:
        logger.exception("The tool of agent %s failed.", plan.name)
        return _envelope("The app failed on this call; the cause is in its log.", _INTERNAL, is_error=True)


def _check_size(size_bytes: int, most_bytes: int) -> None:
    """Refuse a call of more bytes than a request may have: the extension lets much more through."""
    if size_bytes > most_bytes:
        raise BodyTooLargeError(f"The tool call has {size_bytes} bytes; the limit is {most_bytes}. Send less.")


def parse_call(arguments: dict[str, Any], agent: str) -> RunCall:
    """Return the run that the tool's arguments ask for; raise a `HostingError` that names the argument."""
    for name in ("query", *_THREAD_ARGUMENTS):
        if arguments.get(name) is not None and not isinstance(arguments[name], str):
            raise InvalidFieldError(f"The argument {name!r} must be a string.")
    query = arguments.get("query")
    if not query or not query.strip():
        raise MissingMessageError("The argument 'query' is blank or missing. Say what to ask the agent.")
    thread_id = one_thread_id([arguments[name] for name in _THREAD_ARGUMENTS if arguments.get(name)])
    return RunCall(
        request=RunRequest(message=check_message(query)),
        thread_id=None if thread_id is None else check_thread_id(thread_id, agent),
        wait=Wait(),
        form="text",
        idempotency_key=None,
    )


def _tool_result(record: RunRecord, plan: AgentPlan, settings: Settings) -> str:
    terminal = record.terminal
    if isinstance(terminal, Completed) and terminal.approvals:
        waiting = {"pending_approvals": approval_fields(record, terminal.approvals)}
        told = f"{told_text(record, terminal)}\n\n{_how_to_answer(record, plan)}"
        return _envelope(told, {"response": completed_text(terminal), **waiting, **_places(record)}, is_error=False)
    if isinstance(terminal, Completed):
        text = completed_text(terminal)
        return _envelope(text, {"response": text, **_places(record)}, is_error=False)
    if terminal is not None:
        error = run_error(terminal)
        return _envelope(error.detail, {"code": error.code, **_places(record)}, is_error=True)
    late = (
        f"The agent has not answered within {settings.wait_seconds:g} s. "
        f"Its run {record.run_id} goes on; ask again on thread {record.accepted.thread_id}."
    )
    return _envelope(late, {"code": "run_pending", **_places(record)}, is_error=True)


def _how_to_answer(record: RunRecord, plan: AgentPlan) -> str:
    """Return who may answer and where: over HTTP, so that no model approves its own calls."""
    accepted = record.accepted
    if not plan.http:
        return "These calls are made only if a person approves them, and this agent has no HTTP endpoint to do so."
    return (
        "These calls are made only if a person approves them, over the app's HTTP interface: POST "
        f"agents/{accepted.agent}/threads/{accepted.thread_id}/approvals/<id> with "
        '{"approved": true} or {"approved": false, "reason": "..."}. '
        f"The conversation then goes on on thread {accepted.thread_id}."
    )


def _places(record: RunRecord) -> dict[str, str]:
    known = ids(record)
    return {"thread_id": known["thread_id"], "run_id": known["run_id"]}


def _envelope(text: str, structured: dict[str, Any], *, is_error: bool) -> str:
    """Return what the MCP extension takes as a whole CallToolResult (recordings: "Tried besides")."""
    result = {"content": [{"type": "text", "text": text}], "structuredContent": structured, "isError": is_error}
    return json.dumps(
        {"type": "call_tool_result", "content": json.dumps(result, ensure_ascii=False)}, ensure_ascii=False
    )
