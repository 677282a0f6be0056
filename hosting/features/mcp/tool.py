"""An agent as a tool with a conversation: the call of the trigger `mcptool-<agent>`, and its result."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

from msgspec import Struct
from msgspec.structs import replace

from hosting.core.outcome import (
    approval_fields,
    completed_value,
    run_error,
    text_with_approvals,
)
from hosting.core.request.fields import check_message
from hosting.core.request.response_format import agents_own_format
from hosting.core.request.slow_reads import read_aside
from hosting.core.request.strict_json import parse_text
from hosting.core.runs import PROTOCOL_WAIT_SECONDS, Runs
from hosting.core.thread.events import Completed
from hosting.core.thread.finish import finish_reason, is_incomplete
from hosting.core.thread.run import Run
from hosting.core.thread.run_request import RunRequest, StartRun
from hosting.errors import BodyTooLargeError, HostingError, InternalError, InvalidFieldError, MissingMessageError
from hosting.feature import McpTool
from hosting.http.run_call import one_thread_id
from hosting.http.run_text import incomplete_note, text_with_decisions
from hosting.names import APP, check_thread_id, mcp_function
from hosting.plan import AgentPlan, ToolPlan
from hosting.ports import ClockClient, Wait
from hosting.principal import Caller, PrincipalRequest, PrincipalResolver, owner_of, resolve
from hosting.settings import SettingsPart
from hosting.visible import visible_line

_ESCAPED_BYTES = 6
_HEADERS_BYTES = 65_536
_THREAD_ARGUMENTS = ("threadId", "sessionId")
_ARGUMENTS = (
    ("query", "What to ask the agent.", True),
    ("threadId", "The conversation to continue: the thread_id of an earlier response.", False),
    ("sessionId", "Another name of threadId.", False),
)
_PROPERTIES = json.dumps(
    [
        {"propertyName": name, "propertyType": "string", "description": description, "isRequired": is_required}
        for name, description, is_required in _ARGUMENTS
    ]
)


_ID: dict[str, Any] = {"type": "string"}


def output_schema(plan: AgentPlan) -> dict[str, Any]:
    """Return the JSON Schema of the structured content of a result; clients hold a tool error to it too."""
    wanted = agents_own_format(plan.agent)
    value = {} if wanted is None else wanted.json_schema or {"type": "object"}
    if '"$ref"' in json.dumps(value):  # it refers to itself, and stands elsewhere here
        value = {}
    return {
        "type": "object",
        "properties": {
            "response": {"type": "string", "description": "The agent's answer."},
            "thread_id": {**_ID, "description": "The conversation. Send it as threadId to continue."},
            "run_id": {**_ID, "description": "The run that answered."},
            "finish_reason": {"type": ["string", "null"], "description": "Why the model ended its answer, if known."},
            "incomplete": {"type": "boolean", "description": "true: the answer is incomplete."},
            **({} if wanted is None else {"value": value}),
            "pending_approvals": {
                "type": "array",
                "items": {"type": "object"},
                "description": "Tool calls that wait for a person.",
            },
            "code": {"type": "string", "description": "The reason of a tool error."},
        },
        "anyOf": [{"required": ["response", "thread_id", "run_id"]}, {"required": ["code"]}],
    }


class McpSettings(SettingsPart):
    """The settings of MCP tools."""

    mcp_thread_in_text: bool = False
    """Whether the text of an MCP tool's result ends with the thread's id, for clients that read nothing else."""


class AgentTool(Struct, frozen=True):
    """An agent as an MCP tool, which takes calls of `most_bytes`.

    With a `resolver`, which identifies the caller, threads are the caller's.
    """

    plan: AgentPlan
    runs: Runs
    settings: McpSettings
    most_bytes: int
    resolver: PrincipalResolver | None = None

    def declared(self, tool: ToolPlan) -> McpTool:
        """Return the tool with the function that answers its calls."""
        detail = "The app failed on this call. Its log has the cause."
        return McpTool(
            mcp_function(self.plan.name),
            tool.name,
            tool.description,
            properties=_PROPERTIES,
            output_schema=json.dumps(output_schema(self.plan)),
            run=self.call,
            failure=_envelope(detail, {"code": InternalError.code}, is_error=True),
        )

    async def call(self, context: str, client: ClockClient) -> str:
        """Return the tool result for the trigger's text, a tool error for a refused call or a run that failed."""
        try:
            return await self._answer(context, client)
        except HostingError as error:
            return _envelope(error.detail, {"code": error.code}, is_error=True)

    async def _answer(self, context: str, client: ClockClient) -> str:
        most = self.most_bytes
        # JSON escapes a byte to six at most: a longer text holds too much, and is not even parsed.
        _check_size(len(context), _ESCAPED_BYTES * most + _HEADERS_BYTES)
        given = await read_aside(len(context), lambda: parse_text(context))
        principal = None
        if self.resolver is not None:
            request = PrincipalRequest(_headers(given), f"MCP {self.plan.name}", self.plan.name, is_mcp=True)
            principal = await resolve(self.resolver, request)
        owner = owner_of(principal)
        call = await read_aside(len(context), lambda: parse_call(given.get("arguments") or {}, self.plan.name, owner))
        _check_size(len(call.request.message.encode()), most)
        call = replace(call, busy=self.plan.options.busy)
        started = await self.runs.start(self.plan.name, call, Caller.of(client, principal))
        run = await self.runs.wait_as(call.wait, started.run, client)
        return _tool_result(run, self.plan, self.runs.wait_seconds(call.wait), self.settings)


def _headers(context: dict[str, Any]) -> dict[str, str]:
    """Return the headers of the client's transport by name in lower case; repeated ones joined."""
    found: dict[str, str] = {}
    headers = ((context.get("transport") or {}).get("properties") or {}).get("headers") or {}
    for name, value in headers.items():
        lower = str(name).lower()
        found[lower] = f"{found[lower]},{value}" if lower in found else str(value)
    return found


def _check_size(size_bytes: int, most_bytes: int) -> None:
    """Refuse a call of more bytes than a request may have: the extension lets much more through."""
    if size_bytes > most_bytes:
        raise BodyTooLargeError(f"The tool call has {size_bytes} bytes; the limit is {most_bytes}. Send less.")


def parse_call(arguments: dict[str, Any], agent: str, owner: str = APP) -> StartRun:
    """Return the run that the tool's arguments ask for; raise a `HostingError` that names the argument."""
    for name in ("query", *_THREAD_ARGUMENTS):
        if arguments.get(name) is not None and not isinstance(arguments[name], str):
            raise InvalidFieldError(f"The argument {name!r} must be a string.")
    query = arguments.get("query")
    if not query or not query.strip():
        raise MissingMessageError("The argument 'query' is blank or missing. Say what to ask the agent.")
    thread_id = one_thread_id([arguments[name] for name in _THREAD_ARGUMENTS if arguments.get(name)])
    return StartRun(
        request=RunRequest(message=check_message(query)),
        thread_id=None if thread_id is None else check_thread_id(thread_id, agent, owner, is_stored=True),
        wait=Wait(PROTOCOL_WAIT_SECONDS),
    )


def _tool_result(run: Run, plan: AgentPlan, waited_seconds: float, settings: McpSettings) -> str:
    where = {"thread_id": run.accepted.thread_id, "run_id": run.run_id}
    match run.end:
        case Completed() as end:
            text = text_with_approvals(end)
            last = f"\n\nthread_id: {run.accepted.thread_id}" if settings.mcp_thread_in_text else ""
            finish = {"finish_reason": finish_reason(end), "incomplete": is_incomplete(end)}
            if not end.approvals:
                value = completed_value(end)
                structured = {"response": text, **where, **finish, **({} if value is None else {"value": value})}
                shown = "\n\n".join(filter(None, [text, incomplete_note(end)]))
                return _envelope(f"{shown}{last}", structured, is_error=False)
            waiting = {"pending_approvals": approval_fields(run, end.approvals)}
            with_calls = f"{text_with_decisions(run, end)}\n\n{_how_to_answer(run, plan)}"
            return _envelope(f"{with_calls}{last}", {"response": text, **waiting, **where, **finish}, is_error=False)
        case None:
            late = f"The {plan.kind} has not answered within {waited_seconds:g} s. {_how_to_go_on(run, plan)}"
            return _envelope(late, {"code": "run_pending", **where}, is_error=True)
        case end:
            error = run_error(end)
            return _envelope(error.detail, {"code": error.code, **where}, is_error=True)


def _how_to_go_on(run: Run, plan: AgentPlan) -> str:
    """Return how to have the answer of a run that goes on: a model that asked the same again would begin another."""
    at_work = (
        f"Its run {run.run_id} continues on thread {visible_line(run.accepted.thread_id)}. Do not send the query "
        "again: that would start another run."
    )
    if plan.workflow is None:
        return (
            f"{at_work} Call this tool with that threadId and ask for the answer: the conversation has it once the run "
            "has ended."
        )
    return (
        f"{at_work} Its output will be at GET {_thread_path(run, plan)}/runs/{run.run_id} of the app's HTTP interface."
    )


def _thread_path(run: Run, plan: AgentPlan) -> str:
    accepted = run.accepted
    return f"{plan.kind}s/{quote(accepted.agent)}/threads/{quote(accepted.thread_id, safe='@:')}"


def _how_to_answer(run: Run, plan: AgentPlan) -> str:
    """Return who may answer, and where: over HTTP, so that no model approves its own calls."""
    if not plan.options.http:
        return "These calls are made only if a person approves them, and this agent has no HTTP endpoint to do so."
    return (
        "These calls are made only if a person approves them, over the app's HTTP interface: POST "
        f"{_thread_path(run, plan)}/approvals/<id> with "
        '{"approved": true} or {"approved": false, "reason": "..."}. '
        f"The conversation then continues on thread {visible_line(run.accepted.thread_id)}."
    )


def _envelope(text: str, structured: dict[str, Any], *, is_error: bool) -> str:
    """Return the form that the MCP extension takes as a whole CallToolResult (recordings: "Tried besides")."""
    result = {"content": [{"type": "text", "text": text}], "structuredContent": structured, "isError": is_error}
    return json.dumps(
        {"type": "call_tool_result", "content": json.dumps(result, ensure_ascii=False)}, ensure_ascii=False
    )
