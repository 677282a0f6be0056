"""The tool calls of a run that wait for a person: the framework's requests in its response, and their ids."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from agent_framework import AgentResponse, Content

from hosting.requests import PendingApproval
from state.python_values import to_json_value

_ID_LENGTH = 32


def approval_requests(response: AgentResponse[Any]) -> list[Content]:
    """Return the framework's requests in a response for somebody's approval of a tool call."""
    return [content for content in response.user_input_requests if content.type == "function_approval_request"]


def approval_id(run_id: str, request: Content) -> str:
    """Return the id under which a request of the run is answered: 32 hexadecimal digits.

    It is the run's own, so that a late answer never decides on a later call to which a model gave the same id.
    """
    return hashlib.sha256(f"{run_id}/{request.id}".encode()).hexdigest()[:_ID_LENGTH]


def pending_approvals(run_id: str, response: AgentResponse[Any]) -> tuple[PendingApproval, ...]:
    """Return the tool calls whose approval the run's response asks for, in the order of the model."""
    return tuple(_pending(run_id, request) for request in approval_requests(response))


def _pending(run_id: str, request: Content) -> PendingApproval:
    call = request.function_call
    name = call.name if call is not None else None
    arguments = _arguments(call.arguments if call is not None else None)
    return PendingApproval(id=approval_id(run_id, request), tool=name or "", arguments=arguments)


def _arguments(given: object) -> Any:
    """Return arguments as the object that their text holds, if it holds one: models send text."""
    if not isinstance(given, str):
        return to_json_value(given or {})
    try:
        value = json.loads(given or "{}")
    except ValueError:
        return given
    return to_json_value(value) if isinstance(value, dict) else given
