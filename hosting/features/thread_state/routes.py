"""The routes of a thread's state and of messages that are put in, with their bodies and refusals."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from hosting import errors
from hosting.core.outcome import ThreadIds
from hosting.core.request.contents import Limits
from hosting.core.request.fields import REQUEST_FIELDS
from hosting.errors import RequestError
from hosting.http import places
from hosting.http.body_document import AgentBody, Schema
from hosting.http.parameters import Parameter
from hosting.http.route import STORES, Header, ResponseSpec, Route, ok
from hosting.http.routes import CONVERSATION
from hosting.http.run_call import KEY_PARAMETER, JsonBody, json_object
from hosting.http.verbs import MOST_PUT
from hosting.names import PUT_ROLES


class StateChangedError(RequestError, code="state_changed", status=412):
    """The thread's state is another one than `If-Match` names; nothing was written."""


class StateRefusedError(RequestError, code="state_refused", status=409):
    """The agent's threads take no state or messages from outside, or not this member of the state."""


class StateTooLargeError(RequestError, code="state_too_large", status=413):
    """The thread's state would be larger than allowed, or the messages larger than a conversation."""


class ThreadState(ThreadIds):
    """The session's state as the agent's context providers keep it: a member for each, as JSON.

    `version` is another one whenever the state is.
    """

    agent: str
    version: str
    state: dict[str, Any]


class PutMessage(ThreadIds):
    """Messages that were put into a conversation; `put_id` is on each of their entries."""

    agent: str
    put_id: str
    message_count: int


def put_body(agents: Mapping[str, Limits], owner: str) -> Schema:
    """Return the body of messages for any of these agents."""
    bodies = [_put_object(limits) for limits in agents.values()]
    schema = bodies[0] if len(bodies) == 1 else {"anyOf": bodies}
    return {"required": True, "content": {"application/json": {"schema": schema}}}


def _put_object(limits: Limits) -> Schema:
    """Return the schema of the messages for an agent with these limits."""
    limits = replace(limits, roles=PUT_ROLES)
    members = {
        name: {"anyOf": [REQUEST_FIELDS[name].schema(limits), {"type": "null"}]} for name in ("message", "contents")
    }
    has_nothing = {"properties": {"message": {"type": "null"}, "contents": {"enum": [None, []]}}}
    role = {"anyOf": [{"enum": [*PUT_ROLES]}, {"type": "null"}], "description": "Default: user."}
    message = json_object({"role": role, **members}) | {"not": has_nothing}
    return json_object(
        {"messages": {"type": "array", "minItems": 1, "maxItems": MOST_PUT, "items": message}},
        required=["messages"],
    )


STATE_BODY = JsonBody(
    {"state": {"type": "object", "description": "A JSON merge patch (RFC 7396) for the state."}},
    ("state",),
    '{"state": {"todo": {"items": []}}}',
)
IF_MATCH = Parameter(
    "if-match",
    "header",
    "The ETag of the state that the patch is for. Another state is not changed.",
    {"type": "string"},
)
_ETAG = Header("ETag", "The version of the state.")
_PLACE = places.THREAD.below("state")
STATE = Route(
    "thread_state",
    "GET",
    _PLACE,
    "Read the session's state of a thread",
    (ResponseSpec(200, ok(ThreadState)[0].description, ThreadState, (_ETAG,)),),
    CONVERSATION,
    is_for_workflows=False,
)
STATE_WRITE = Route(
    "thread_state_write",
    "PATCH",
    _PLACE,
    "Change the session's state of a thread, without a run",
    (ResponseSpec(200, "The state. The next run begins with it.", ThreadState, (_ETAG,)),),
    (
        StateChangedError,
        StateRefusedError,
        StateTooLargeError,
        errors.ThreadBusyError,
        errors.ThreadChangedError,
        *CONVERSATION,
    ),
    (IF_MATCH,),
    STATE_BODY,
    is_for_workflows=False,
    needs="own",
)
_REPLAYED = Header("Idempotency-Replayed", "true: an earlier request with this key put them in.", always=False)
PUT_MESSAGES = Route(
    "thread_messages_put",
    "POST",
    places.THREAD.below("messages"),
    "Put messages into a conversation, without a run",
    (ResponseSpec(201, "The messages stand in the conversation.", PutMessage, (_REPLAYED,)),),
    (
        StateRefusedError,
        StateTooLargeError,
        errors.UnsupportedContentError,
        errors.MissingMessageError,
        errors.ContentTooLargeError,
        errors.InvalidThreadIdError,
        errors.InvalidIdempotencyKeyError,
        errors.IdempotencyKeyReusedError,
        errors.ThreadBusyError,
        errors.ThreadDeletedError,
        errors.ThreadDeletingError,
        errors.ApprovalsPendingError,
        errors.ForbiddenError,
        errors.AttachmentsUnavailableError,
        *STORES,
    ),
    (KEY_PARAMETER,),
    AgentBody(put_body),
    is_for_workflows=False,
    needs="run",
)
ROUTES = (STATE, STATE_WRITE, PUT_MESSAGES)
