"""The wire's routes, the ids of its tasks, and its refusals as JSON-RPC errors.

A task's id has the run that began it and the thread. The agent is in the path, and the owner is in neither: whoever
sends an id reaches tasks of their own alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hosting import errors
from hosting.errors import HostingError, MethodNotAllowedError, UnknownRunError
from hosting.http.json_rpc import InvalidRequestError, MethodNotFoundError, RequestId, envelope
from hosting.http.parameters import Parameter
from hosting.http.refusals import is_later, retry_after
from hosting.http.replies import Reply
from hosting.http.route import Place, Route
from hosting.http.wire_replies import refusal_reply
from hosting.http.wire_requests import UnknownPathError
from hosting.names import is_id

PATH = "a2a"
VERSION = "1.0"
SUBMITTED, WORKING = "TASK_STATE_SUBMITTED", "TASK_STATE_WORKING"
COMPLETED, FAILED, CANCELED = "TASK_STATE_COMPLETED", "TASK_STATE_FAILED", "TASK_STATE_CANCELED"
INPUT_REQUIRED, AUTH_REQUIRED = "TASK_STATE_INPUT_REQUIRED", "TASK_STATE_AUTH_REQUIRED"
WAITS = (INPUT_REQUIRED, AUTH_REQUIRED)
STATES = (SUBMITTED, WORKING, COMPLETED, FAILED, CANCELED, INPUT_REQUIRED, "TASK_STATE_REJECTED", AUTH_REQUIRED)
"""The states of a task by their numbers, from 1."""

_VERSION = Parameter("A2A-Version", "header", "Required. The default is 0.3.", {"type": "string", "enum": [VERSION]})
_AGENT = Place().below(PATH).below("{name}")
_CARD = _AGENT.below(".well-known/agent-card.json")
RPC = Route("a2a", "POST", _AGENT, "Send a JSON-RPC request to an agent", (), (), (_VERSION,), needs="run")
CARD = Route("a2a", "GET", _CARD, "Read an agent's card", (), is_for_all=True)
OPERATIONS = (RPC, CARD)


class TaskNotCancelableError(HostingError, code="task_not_cancelable", status=400):
    """A task that is over."""


class PushNotificationNotSupportedError(HostingError, code="push_notification_not_supported", status=400):
    """Anything about push notifications."""


class UnsupportedOperationError(HostingError, code="unsupported_operation", status=400):
    """An operation of the protocol that the app, or the task as it stands, does not take."""


class VersionNotSupportedError(HostingError, code="version_not_supported", status=400):
    """A version of the protocol other than 1.0."""


_OF_HTTP = (
    *(errors.UnauthorizedError, errors.ForbiddenError, errors.CrossSiteError),
    *(errors.UnknownAgentError, UnknownPathError, MethodNotAllowedError),
)
"""What is refused before there is a JSON-RPC request has its own status. Of every other error the status is 200, for
the official client for Python reads no error of another."""

_NUMBERS: Mapping[tuple[int, str], tuple[type[HostingError], ...]] = {
    (-32700, ""): (errors.InvalidJsonError, errors.InvalidEncodingError),
    (-32600, ""): (InvalidRequestError, errors.InvalidBodyError, errors.BodyTooLargeError, *_OF_HTTP),
    (-32601, ""): (MethodNotFoundError,),
    (-32001, "TASK_NOT_FOUND"): (errors.UnknownRunError, errors.ThreadDeletedError),
    (-32002, "TASK_NOT_CANCELABLE"): (TaskNotCancelableError,),
    (-32003, "PUSH_NOTIFICATION_NOT_SUPPORTED"): (PushNotificationNotSupportedError,),
    (-32004, "UNSUPPORTED_OPERATION"): (
        *(UnsupportedOperationError, errors.ApprovalsPendingError, errors.UnknownApprovalError),
        *(errors.ApprovalAnsweredError, errors.ApprovalExpiredError),
    ),
    (-32005, "CONTENT_TYPE_NOT_SUPPORTED"): (errors.UnsupportedContentError, errors.UnsupportedMediaTypeError),
    (-32009, "VERSION_NOT_SUPPORTED"): (VersionNotSupportedError,),
}
"""The JSON-RPC code of each error, and its reason where the protocol has one. Others are wrong parameters or ours."""

_NUMBER_OF = {kind: number for number, kinds in _NUMBERS.items() for kind in kinds}


def task_id(run_id: str, thread_id: str) -> str:
    """Return the id of the task that a run began."""
    return f"{run_id}~{thread_id}"


def read_task_id(text: str) -> tuple[str, str]:
    """Return the run and the thread in a task's id; raises `UnknownRunError` for an invalid id."""
    run_id, _, thread_id = text.partition("~")
    if not (is_id(run_id) and is_id(thread_id)):
        raise UnknownRunError(f"There is no task {text[:80]!r}. Send a task id of this agent.")
    return run_id, thread_id


def error_object(error: HostingError) -> dict[str, Any]:
    """Return a refusal as JSON-RPC has it, with its reason and our own code."""
    is_ours = error.status >= 500 or is_later(error)
    number, reason = _NUMBER_OF.get(type(error), (-32603 if is_ours else -32602, ""))
    later = {"retryAfterSeconds": retry_after(error)} if is_later(error) else {}
    info = {
        "@type": "type.googleapis.com/google.rpc.ErrorInfo",
        "reason": reason or error.code.upper(),
        "domain": "a2a-protocol.org" if reason else "durable-agents",
        "metadata": {"code": error.code, **later},
    }
    return {"code": number, "message": error.detail, "data": [info]}


def a2a_refusal(error: HostingError, request_id: RequestId = None) -> Reply:
    """Return a refusal as the answer to a request."""
    status = error.status if isinstance(error, _OF_HTTP) else 200
    body = envelope(request_id, error=error_object(error))
    return refusal_reply(error, body, is_later=is_later(error), status=status)
