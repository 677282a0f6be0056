"""Tool calls that a person approved with other arguments: how they are made, and what the model learns.

Theory. The request for an approval stands in the session, and the framework makes the call that it finds there. So the
person's arguments take the place of the model's there, before the run that goes on begins. The conversation keeps the
call as the model sent it: what it asked for stays, and the result says what was done. Every attempt of that run begins
with the same session and the same decisions, so each makes the same call.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any

from agent_framework import Agent, ChatContext, ChatMiddleware, Content, FunctionTool

from hosting.core.agent.framework import is_destructive
from hosting.core.thread.run_request import PendingApproval
from hosting.schemas import without_values

_STATE, _PENDING = "tool_approval", "pending_approval_requests"
"""Where the framework keeps the requests for approvals in a session's state."""
_MOST_SCHEMA_CHARACTERS = 8_192
"""The arguments of a tool with a larger schema cannot be changed: forty approvals may stand in one event."""


class ChangedCalls(ChatMiddleware):
    """Says to the model which arguments a person gave a call: its result begins with that.

    `notes` are by the framework's id of the call. A result is changed in place, so that the conversation keeps what the
    model got.
    """

    def __init__(self, notes: Mapping[str, str]) -> None:
        self._notes = dict(notes)

    async def process(self, context: ChatContext, call_next: Callable[[], Awaitable[None]]) -> None:
        """Put each note before its call's result, once, then call the model."""
        for message in context.messages:
            for content in message.contents:
                note = self._notes.pop(content.id or "", None) if content.type == "function_result" else None
                if note is not None:
                    items = content.items or [Content.from_text(str(content.result or ""))]
                    noted = Content.from_function_result(str(content.call_id), result=[Content.from_text(note), *items])
                    content.result, content.items = noted.result, noted.items
        await call_next()


def with_arguments(session: dict[str, Any] | None, arguments: Mapping[str, str]) -> dict[str, Any] | None:
    """Return the session with the arguments, as JSON text, of the calls whose requests have these ids."""
    if session is None or not arguments:
        return session
    changed = copy.deepcopy(session)
    kept = changed.get("state", {}).get(_STATE)
    for request in kept.get(_PENDING, ()) if isinstance(kept, dict) else ():
        if request.get("id") in arguments:
            request["function_call"]["arguments"] = arguments[request["id"]]
    return changed


def with_rules(
    approvals: Iterable[PendingApproval], agent: Agent[Any], offered: Iterable[Any]
) -> tuple[PendingApproval, ...]:
    """Return the approvals with what their tools say: the schema of the arguments, and whether a call destroys.

    The tools are those that were `offered` to the model, or the agent's own where it was not called.
    """
    servers = (tool for server in agent.mcp_tools for tool in server.functions)
    known = (*(agent.default_options.get("tools") or ()), *servers, *offered)
    tools = {tool.name: tool for tool in known if isinstance(tool, FunctionTool)}
    return tuple(_with_rule(approval, tools.get(approval.tool)) for approval in approvals)


def _with_rule(approval: PendingApproval, tool: FunctionTool | None) -> PendingApproval:
    if tool is None or approval.kind != "approve":
        return approval
    schema = without_values(tool.parameters())
    is_kept = len(json.dumps(schema)) <= _MOST_SCHEMA_CHARACTERS
    rules = {"arguments_schema": schema if is_kept else None, "destructive": is_destructive(tool)}
    return approval.model_copy(update=rules)
