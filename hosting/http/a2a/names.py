"""The wire's routes, the ids of its tasks, and its refusals as JSON-RPC errors.

A task's id has the run that began it and the thread. The agent is in the path, and the owner is in neither: whoever
sends an id reaches tasks of their own alone.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from hosting import errors
from hosting.errors import HostingError, MethodNotAllowedError, UnknownRunError
from hosting.http.parameters import Parameter
from hosting.http.refusals import later_headers, retry_after
from hosting.http.replies import Reply
from hosting.http.route import Route
from hosting.http.wire import UnknownPathError
from hosting.names import is_id

FUNCTION = "http_a2a"
PATH = "a2a"
VERSION = "1.0"
_CARD = ".well-known/agent-card.json"
_VERSION = Parameter("A2A-Version", "header", "Required. The default is 0.3.", {"type": "string", "enum": [VERSION]})
RPC = Route(
    FUNCTION, "POST", f"{PATH}/{{name}}", "Send a JSON-RPC request to an agent", (), (), (_VERSION,), needs="run"
)
CARD = Route(FUNCTION, "GET", f"{PATH}/{{name}}/{_CARD}", "Read an agent's card", (), is_for_all=True)


class InvalidRequestError(HostingError, code="invalid_request", status=400):
    """A body that is no JSON-RPC request."""


class MethodNotFoundError(HostingError, code="method_not_found", status=404):
    """A method that the protocol does not have."""


class TaskNotCancelableError(HostingError, code="task_not_cancelable", status=400):
    """A task that is over."""


class PushNotificationNotSupportedError(HostingError, code="push_notification_not_supported", status=400):
    """Anything about push notifications."""


class UnsupportedOperationError(HostingError, code="unsupported_operation", status=400):
    """An operation of the protocol that the app, or the task as it stands, does not take."""


class VersionNotSupportedError(HostingError, code="version_not_supported", status=400):
    """A version of the protocol other than 1.0."""


_NUMBERS: Mapping[type[HostingError], tuple[int, str]] = {
    errors.InvalidJsonError: (-32700, ""),
    errors.InvalidEncodingError: (-32700, ""),
    errors.InvalidBodyError: (-32600, ""),
    errors.BodyTooLargeError: (-32600, ""),
    InvalidRequestError: (-32600, ""),
    UnknownPathError: (-32600, ""),
    errors.UnknownAgentError: (-32600, ""),
    errors.MethodNotAllowedError: (-32600, ""),
    errors.UnauthorizedError: (-32600, ""),
    errors.ForbiddenError: (-32600, ""),
    errors.CrossSiteError: (-32600, ""),
    MethodNotFoundError: (-32601, ""),
    errors.UnknownRunError: (-32001, "TASK_NOT_FOUND"),
    errors.ThreadDeletedError: (-32001, "TASK_NOT_FOUND"),
    TaskNotCancelableError: (-32002, "TASK_NOT_CANCELABLE"),
    PushNotificationNotSupportedError: (-32003, "PUSH_NOTIFICATION_NOT_SUPPORTED"),
    UnsupportedOperationError: (-32004, "UNSUPPORTED_OPERATION"),
    errors.ApprovalsPendingError: (-32004, "UNSUPPORTED_OPERATION"),
    errors.UnknownApprovalError: (-32004, "UNSUPPORTED_OPERATION"),
    errors.ApprovalAnsweredError: (-32004, "UNSUPPORTED_OPERATION"),
    errors.ApprovalExpiredError: (-32004, "UNSUPPORTED_OPERATION"),
    errors.UnsupportedContentError: (-32005, "CONTENT_TYPE_NOT_SUPPORTED"),
    errors.UnsupportedMediaTypeError: (-32005, "CONTENT_TYPE_NOT_SUPPORTED"),
    VersionNotSupportedError: (-32009, "VERSION_NOT_SUPPORTED"),
}
"""The JSON-RPC code of each error, and its reason where the protocol has one. Others are wrong parameters or ours."""

_HTTP_STATUSES = (
    *(errors.UnauthorizedError, errors.ForbiddenError, errors.CrossSiteError),
    *(errors.UnknownAgentError, UnknownPathError, MethodNotAllowedError),
)
"""What is refused before there is a JSON-RPC request has its own status. Of every other error the status is 200, for
the official client for Python reads no error of another."""

_LATER = (errors.ThreadDeletingError, errors.TooManyRunsError, errors.LimitExceededError)


def route_of(method: str, path: str) -> Route:
    """Return the route; raises `UnknownPathError`, or `MethodNotAllowedError` if the path has other methods."""
    name, _, rest = path.rstrip("/").partition("/")
    route = {"": RPC, _CARD: CARD}.get(rest) if name else None
    if route is None:
        raise UnknownPathError(f"{method} {path[:80]!r} is not served here. docs/reference/a2a.md lists all routes.")
    if route.method != method:
        raise MethodNotAllowedError(f"{method} is not served at {path[:80]!r}. Send {route.method}.")
    return route


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
    is_ours = error.status >= 500 or isinstance(error, _LATER)
    number, reason = _NUMBERS.get(type(error), (-32603 if is_ours else -32602, ""))
    metadata = {"code": error.code}
    if error.status in (429, 503) or isinstance(error, _LATER):
        metadata["retryAfterSeconds"] = retry_after(error)
    info = {
        "@type": "type.googleapis.com/google.rpc.ErrorInfo",
        "reason": reason or error.code.upper(),
        "domain": "a2a-protocol.org" if reason else "durable-agents",
        "metadata": metadata,
    }
    return {"code": number, "message": error.detail, "data": [info]}


def error_reply(error: HostingError, request_id: str | int | None = None) -> Reply:
    """Return a refusal as the answer to a request."""
    headers = {"x-content-type-options": "nosniff"}
    if error.status in (429, 503) or isinstance(error, _LATER):
        headers |= later_headers(error)
    if error.status == 401:
        headers["www-authenticate"] = "Bearer"
    status = error.status if isinstance(error, _HTTP_STATUSES) else 200
    return Reply(status, envelope(request_id, error=error_object(error)), "application/json", headers)


def envelope(request_id: str | int | None, **member: object) -> str:
    """Return a JSON-RPC response with its `result` or its `error`."""
    return json.dumps({"jsonrpc": "2.0", "id": request_id, **member}, ensure_ascii=False)


def result_reply(request_id: str | int | None, result: Mapping[str, Any]) -> Reply:
    """Return the result of a request as its response."""
    return Reply(200, envelope(request_id, result=result), "application/json")
