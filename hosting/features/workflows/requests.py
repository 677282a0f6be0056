"""The executors' questions to a person (`request_info`), and the answers as the framework takes them.

Theory. A workflow that asks comes to rest, and its newest checkpoint has what it waits for. So its run ends with those
requests, as an agent's ends with tool calls that wait, and the run that brings the answers begins with that
checkpoint. An agent's tool call is answered as that of an agent alone; any other request has a JSON Schema, that of the
type of its answer. The type may ask for more than its schema can say, so an answer is tried before it is taken.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, Field, fields, is_dataclass
from typing import Any, get_type_hints

from agent_framework import Content, Message, WorkflowEvent
from pydantic import Field as Member
from pydantic import PydanticSchemaGenerationError, PydanticUserError, TypeAdapter, ValidationError, create_model

from hosting.core.thread.messages import WAITING, approval_id, call_answer, pending_approval
from hosting.core.thread.run_request import Decision, PendingApproval
from hosting.errors import InvalidInputError, RunCancelledError, RunFailedError
from hosting.features.workflows.answer import plain_value
from hosting.workflows import faults_of

logger = logging.getLogger(__name__)

Requests = Mapping[str, WorkflowEvent[Any]]
"""The framework's requests by their ids."""

_Make = Callable[[Any], Any]


def _user(text: str) -> Message:
    return Message("user", [text])


_OF_TEXT: Mapping[Any, _Make] = {Content: Content.from_text, Message: _user, list[Message]: lambda text: [_user(text)]}
"""The type of a text answer to a request for one of the framework's own types."""

_MEMBERS: Mapping[Any, tuple[Any, _Make]] = {
    Content: (str, Content.from_text),
    Message: (str, _user),
    list[Message]: (list[str], lambda texts: [_user(text) for text in texts]),
}
"""The form of such a type's member in an answer, and its reader."""


def pending_requests(run_id: str, requests: Requests) -> tuple[PendingApproval, ...]:
    """Return the questions that a run ends with; raises `RunFailedError` for an answer that a request cannot carry."""
    return tuple(_pending(approval_id(run_id, request_id), event) for request_id, event in requests.items())


def _pending(pending_id: str, event: WorkflowEvent[Any]) -> PendingApproval:
    if _is_call(event):
        return pending_approval(pending_id, event.data)
    content = plain_value(event.data)
    return PendingApproval(
        id=pending_id,
        tool=event.source_executor_id,
        arguments=content,
        question=content if isinstance(content, str) else None,
        answer_schema=_schema(event),
        kind="ask",
    )


def _is_call(event: WorkflowEvent[Any]) -> bool:
    return isinstance(event.data, Content) and event.data.type in WAITING


def _schema(event: WorkflowEvent[Any]) -> dict[str, Any]:
    try:
        return _read_as(event.response_type)[0].json_schema(ref_template="#/$defs/{model}")
    except (PydanticSchemaGenerationError, PydanticUserError, TypeError, NameError):
        name = getattr(event.response_type, "__name__", str(event.response_type))
        raise RunFailedError(
            f"Executor {event.source_executor_id!r} asks for a {name}, which a request cannot carry. Let it ask for a "
            "type with a JSON Schema, such as str or a dataclass."
        ) from None


def _read_as(kind: Any) -> tuple[TypeAdapter[Any], _Make]:
    """Return the reader of an answer of that type, and the maker of the answer's value.

    A dataclass may have messages among its members, as the review of a plan has: they are given as texts.
    """
    if kind in _OF_TEXT:
        return TypeAdapter(str), _OF_TEXT[kind]
    hints = get_type_hints(kind) if is_dataclass(kind) else {}
    makers = {name: _MEMBERS[hint][1] for name, hint in hints.items() if hint in _MEMBERS}
    if not makers:
        return TypeAdapter(kind), lambda value: value
    members: dict[str, Any] = {
        field.name: (_MEMBERS[hints[field.name]][0] if field.name in makers else hints[field.name], _default(field))
        for field in fields(kind)
        if field.init
    }

    def make(value: Any) -> Any:
        values = {name: getattr(value, name) for name in members if name in value.model_fields_set}
        return kind(**{name: makers[name](member) if name in makers else member for name, member in values.items()})

    return TypeAdapter(create_model(kind.__name__, **members)), make


def _default(member: Field[Any]) -> Any:
    if member.default_factory is not MISSING:
        return Member(default_factory=member.default_factory)
    return ... if member.default is MISSING else member.default


def responses(run_id: str, requests: Requests, decisions: Sequence[Decision]) -> dict[str, Any]:
    """Return the answers to the questions of run `run_id`, by the framework's ids.

    Raises `InvalidInputError`, and `RunCancelledError` where a caller gave a question up.
    """
    by_id = {decision.id: decision for decision in decisions}
    return {
        request_id: _response(event, by_id.get(approval_id(run_id, request_id)))
        for request_id, event in requests.items()
    }


def check_response(run_id: str, requests: Requests, decision: Decision) -> None:
    """Raise `InvalidInputError` for an answer to a question of run `run_id` with another type."""
    for request_id, event in requests.items():
        if approval_id(run_id, request_id) == decision.id and not _is_call(event):
            _response(event, decision)


def _response(event: WorkflowEvent[Any], decision: Decision | None) -> Any:
    asks = f"executor {event.source_executor_id!r}"
    if decision is not None and _is_call(event):
        return call_answer(decision, event.data)
    if decision is not None and decision.value is None and not decision.approved:
        raise RunCancelledError(f"The question of {asks} was given up.")
    if decision is None or decision.value is None:
        raise InvalidInputError(f"The answer to {asks} is missing.")
    try:
        reads, make = _read_as(event.response_type)
        return make(reads.validate_json(decision.value))
    except ValidationError as error:
        raise InvalidInputError(f"The value is not what {asks} asked for: {faults_of(error, 'value')}.") from None
    except Exception as error:  # the type's own code runs here
        logger.exception("The type that %s asks for does not take an answer.", asks)
        raise InvalidInputError(f"The value is not what {asks} asked for: its type refuses it.") from error
