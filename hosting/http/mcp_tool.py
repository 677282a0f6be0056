"""An agent or a workflow as an MCP tool, whoever serves it: its arguments, and what a run is as its result."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from msgspec import Struct

from hosting.core.outcome import approval_fields, completed_value, run_error, text_with_approvals
from hosting.core.request.fields import check_message
from hosting.core.request.response_format import agents_own_format
from hosting.core.runs import PROTOCOL_WAIT_SECONDS
from hosting.core.thread.events import Completed
from hosting.core.thread.finish import finish_reason, is_incomplete
from hosting.core.thread.run import Run
from hosting.core.thread.run_request import RunRequest, StartRun
from hosting.errors import HostingError, InvalidFieldError, MissingMessageError
from hosting.http.mcp_content import Block, blocks_of
from hosting.http.run_call import one_thread_id
from hosting.http.run_text import incomplete_note, text_with_decisions
from hosting.model_options import IGNORED, OPTIONS, Declared, bounds_schemas, read_chosen
from hosting.names import APP, check_thread_id
from hosting.plan import AgentPlan
from hosting.ports import Wait
from hosting.visible import visible_line

_THREAD_ARGUMENTS = ("threadId", "sessionId")
ARGUMENTS = (
    ("query", "What to ask the agent.", True),
    ("threadId", "The conversation to continue: the thread_id of an earlier response.", False),
    ("sessionId", "Another name of threadId.", False),
)
"""The arguments of every tool: name, description, and whether a call must have it. All are texts."""

_ID: dict[str, Any] = {"type": "string"}


class CallResult(Struct, frozen=True):
    """The result of a call: a text and `blocks` of other content, and the same as `structured` content.

    It is a tool error if it `is_error`.
    """

    text: str
    structured: dict[str, Any]
    is_error: bool = False
    blocks: Sequence[Block] = ()

    @classmethod
    def of_error(cls, error: HostingError, **more: Any) -> CallResult:
        """Return the tool error of a refusal, or of a run that failed."""
        return cls(error.detail, {"code": error.code, **more}, is_error=True)

    def as_object(self) -> dict[str, Any]:
        """Return it as the protocol has it."""
        texts = [{"type": "text", "text": self.text}] if self.text or not self.blocks else []
        return {"content": [*texts, *self.blocks], "structuredContent": self.structured, "isError": self.is_error}


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
            IGNORED: {
                "type": "array",
                "items": {"type": "string"},
                "description": "The options of the call that have no effect.",
            },
            "code": {"type": "string", "description": "The reason of a tool error."},
        },
        "anyOf": [{"required": ["response", "thread_id", "run_id"]}, {"required": ["code"]}],
    }


def options_argument(plan: AgentPlan) -> dict[str, Any] | None:
    """Return the JSON Schema of the tool's argument `options`; None where the agent lets callers set none."""
    declared = plan.options.model_options
    if not declared:
        return None
    return {
        "type": "object",
        "properties": bounds_schemas(declared),
        "additionalProperties": False,
        "description": "Options of the model, within these bounds.",
    }


def parse_call(
    arguments: Mapping[str, Any], agent: str, owner: str = APP, declared: Declared | None = None
) -> StartRun:
    """Return the run that the tool's arguments ask for; raise a `HostingError` that names the argument.

    `declared` are the options of its model that callers set.
    """
    for name in ("query", *_THREAD_ARGUMENTS):
        if arguments.get(name) is not None and not isinstance(arguments[name], str):
            raise InvalidFieldError(f"The argument {name!r} must be a string.")
    query = arguments.get("query")
    if not query or not query.strip():
        raise MissingMessageError("The argument 'query' is blank or missing. Say what to ask the agent.")
    thread_id = one_thread_id([arguments[name] for name in _THREAD_ARGUMENTS if arguments.get(name)])
    chosen = read_chosen(arguments.get(OPTIONS), declared or {})
    return StartRun(
        request=RunRequest(message=check_message(query), **chosen.members),
        thread_id=None if thread_id is None else check_thread_id(thread_id, agent, owner, is_stored=True),
        wait=Wait(PROTOCOL_WAIT_SECONDS),
        wire={IGNORED: [*chosen.ignored]} if chosen.ignored else None,
    )


def result_of_call(run: Run, plan: AgentPlan, waited_seconds: float, *, thread_in_text: bool = False) -> CallResult:
    """Return a run as the result of the call that began it, and waited for it for so long.

    With `thread_in_text` the text ends with the thread's id, for clients that read nothing else.
    """
    where: dict[str, Any] = {"thread_id": run.accepted.thread_id, "run_id": run.run_id}
    if ignored := (run.accepted.wire or {}).get(IGNORED):
        where[IGNORED] = ignored
    match run.end:
        case Completed() as end:
            text = text_with_approvals(end)
            last = f"\n\nthread_id: {run.accepted.thread_id}" if thread_in_text else ""
            finish = {"finish_reason": finish_reason(end), "incomplete": is_incomplete(end)}
            if not end.approvals:
                value = completed_value(end)
                structured = {"response": text, **where, **finish, **({} if value is None else {"value": value})}
                shown = "\n\n".join(filter(None, [text, incomplete_note(end)]))
                return CallResult(f"{shown}{last}", structured, blocks=blocks_of(run))
            waiting = {"pending_approvals": approval_fields(run, end.approvals)}
            with_calls = f"{text_with_decisions(run, end)}\n\n{_how_to_answer(run, plan)}"
            return CallResult(
                f"{with_calls}{last}", {"response": text, **waiting, **where, **finish}, blocks=blocks_of(run)
            )
        case None:
            why = "is paused by a person" if run.paused else f"has not answered within {waited_seconds:g} s"
            late = f"The {plan.kind} {why}. {_how_to_go_on(run, plan)}"
            return CallResult(late, {"code": "run_pending", **where}, is_error=True)
        case end:
            return CallResult.of_error(run_error(end), **where)


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
