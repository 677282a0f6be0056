"""The wire's one operation, and its refusals.

A refusal before a run has begun is the event that ends a run with an error, as the body of an HTTP error.
"""

from __future__ import annotations

from hosting.errors import HostingError, MethodNotAllowedError
from hosting.http.refusals import TRY_AGAIN
from hosting.http.replies import Reply
from hosting.http.route import Place, Route
from hosting.http.wire_replies import refusal_reply

PATH = "ag-ui"
RUN = Route("ag_ui", "POST", Place().below(PATH).below("{name}"), "Run an agent", (), needs="run")


class UnservedInputError(HostingError, code="not_served", status=400):
    """A field or a value of the protocol that this app does not serve."""


class UnknownAgentPathError(HostingError, code="unknown_path", status=404):
    """A path that the wire does not have."""


def ag_ui_operation(method: str, path: str) -> Route:
    """Return the operation; raises `UnknownAgentPathError`, and `MethodNotAllowedError` for another method."""
    name = path.rstrip("/")
    if not name or "/" in name:
        raise UnknownAgentPathError(f"There is nothing at {path[:80]!r}. Send POST {PATH}/ and an agent's name.")
    if method != RUN.method:
        raise MethodNotAllowedError(f"{method} is not served at {path[:80]!r}. Send {RUN.method}.")
    return RUN


def error_event(error: HostingError) -> dict[str, str]:
    """Return the event that ends a run for this reason."""
    return {"type": "RUN_ERROR", "message": error.detail, "code": error.code}


def ag_ui_refusal(error: HostingError) -> Reply:
    """Return the answer to a request that begins no run."""
    more = {"allow": RUN.method} if isinstance(error, MethodNotAllowedError) else None
    return refusal_reply(error, error_event(error), is_later=error.status in TRY_AGAIN, more=more)
