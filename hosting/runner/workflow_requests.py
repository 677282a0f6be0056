"""What the executors of a workflow ask a person (`request_info`), and the answers as the framework takes them.

Theory. A workflow that asks comes to rest, and its newest checkpoint has what it waits for. So its run ends with those
requests, as an agent's ends with tool calls to approve, and the run that brings the answers begins with that
checkpoint. An agent's tool call is approved; any other request has a JSON Schema, that of the type of its answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from agent_framework import Content, Message, WorkflowEvent
from pydantic import PydanticSchemaGenerationError, PydanticUserError, TypeAdapter, ValidationError

from hosting.errors import InvalidInputError, RunFailedError
from hosting.request.run_request import Decision, PendingApproval
from hosting.runner.workflow_answer import plain_value
from hosting.thread.messages import approval_id, approval_response, pending_approval

Requests = Mapping[str, WorkflowEvent[Any]]
"""The framework's requests by their ids."""

_TEXT = {"type": "string"}
_OF_TEXT: Mapping[Any, Callable[[str], Any]] = {
    Content: Content.from_text,
    Message: lambda text: Message("user", [text]),
    list[Message]: lambda text: [Message("user", [text])],
}
"""What a text becomes where the framework's own types are asked for."""


def pending_requests(run_id: str, requests: Requests) -> tuple[PendingApproval, ...]:
    """Return what a run ends with; raises `RunFailedError` for an answer that no request can bring."""
    return tuple(_pending(approval_id(run_id, request_id), event) for request_id, event in requests.items())


def _pending(pending_id: str, event: WorkflowEvent[Any]) -> PendingApproval:
    if _is_approval(event):
        return pending_approval(pending_id, event.data)
    return PendingApproval(
        id=pending_id,
        tool=event.source_executor_id,
        arguments=plain_value(event.data),
        answer_schema=_schema(event),
    )


def _is_approval(event: WorkflowEvent[Any]) -> bool:
    return isinstance(event.data, Content) and event.data.type == "function_approval_request"


def _schema(event: WorkflowEvent[Any]) -> dict[str, Any]:
    if event.response_type in _OF_TEXT:
        return _TEXT
    try:
        return TypeAdapter(event.response_type).json_schema(ref_template="#/$defs/{model}")
    except (PydanticSchemaGenerationError, PydanticUserError, TypeError):
        name = getattr(event.response_type, "__name__", str(event.response_type))
        raise RunFailedError(
            f"Executor {event.source_executor_id!r} asks for a {name}, which no request can bring. Let it ask for a "
            "type with a JSON Schema, such as str or a dataclass."
        ) from None


def responses(run_id: str, requests: Requests, decisions: Sequence[Decision]) -> dict[str, Any]:
    """Return the answers to what run `run_id` asked, by the framework's ids; raises `InvalidInputError`."""
    made = {decision.id: decision for decision in decisions}
    return {
        request_id: _response(event, made.get(approval_id(run_id, request_id)))
        for request_id, event in requests.items()
    }


def _response(event: WorkflowEvent[Any], decision: Decision | None) -> Any:
    if decision is not None and _is_approval(event):
        return approval_response(decision, event.data)
    if decision is None or decision.value is None:
        raise InvalidInputError(f"There is no answer to what executor {event.source_executor_id!r} asks.")
    try:
        if (of_text := _OF_TEXT.get(event.response_type)) is not None:
            return of_text(TypeAdapter(str).validate_json(decision.value))
        return TypeAdapter(event.response_type).validate_json(decision.value)
    except ValidationError:
        raise InvalidInputError(
            f"The answer to executor {event.source_executor_id!r} is none of the type that it asked for."
        ) from None
