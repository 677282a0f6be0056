"""The wire's routes, the versions of the protocol, and refusals as JSON-RPC errors.

Versions from before 2026 begin with a handshake, and those since then have all about the client in each request. Here
both are without a state in the process: what the handshake shows of the client is in the session's id.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping
from typing import Any

from hosting import errors
from hosting.errors import HostingError
from hosting.http.json_rpc import InvalidRequestError, MethodNotFoundError, RequestId, envelope
from hosting.http.parameters import Parameter
from hosting.http.refusals import is_later, retry_after
from hosting.http.replies import Reply
from hosting.http.route import Place, Route
from hosting.http.wire_replies import refusal_reply

PATH = "mcp"
HANDSHAKE_VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
DEFAULT_VERSION = "2025-03-26"
"""The version of a request that names none."""
NEWEST_VERSION = "2026-07-28"
VERSIONS = (*HANDSHAKE_VERSIONS, NEWEST_VERSION)
FIRST_WITH_EMPTY_EVENTS = "2025-11-25"
"""Clients of older versions break off at an event without data."""
FIRST_WITH: Mapping[str, str] = {"audio": "2025-03-26", "resource_link": "2025-06-18"}
"""The first version with a kind of content; the other kinds are in all of them."""
FIRST_WITH_CHOICES = "2025-11-25"
"""The first version whose forms have choices with titles, and several choices at once."""

VERSION = "mcp-protocol-version"
SESSION = "mcp-session-id"
LAST_EVENT = "last-event-id"
_IN_META = "io.modelcontextprotocol/"
META_VERSION, META_CAPABILITIES = f"{_IN_META}protocolVersion", f"{_IN_META}clientCapabilities"
META_SERVER, META_SUBSCRIPTION = f"{_IN_META}serverInfo", f"{_IN_META}subscriptionId"
SERVER: Mapping[str, str] = {"name": "durable-agents", "version": "1.0.0"}

_TEXT = {"type": "string"}
_HEADERS = (
    Parameter(
        "MCP-Protocol-Version", "header", "The version of the protocol.", {"type": "string", "enum": [*VERSIONS]}
    ),
    Parameter("Mcp-Session-Id", "header", "The id that the answer to `initialize` has as a header.", _TEXT),
)
_PLACE = Place().below(PATH).below("v1")
CALL = Route("mcp", "POST", _PLACE, "Send a JSON-RPC message", (), (), _HEADERS, needs="run")
RESUME = Route(
    "mcp",
    "GET",
    _PLACE,
    "Go on with the stream of a call",
    (),
    (),
    (*_HEADERS, Parameter("Last-Event-ID", "header", "The id of the last event that was received.", _TEXT)),
)
LEAVE = Route("mcp", "DELETE", _PLACE, "End a session", (), (), _HEADERS)
OPERATIONS = (CALL, RESUME, LEAVE)

_SESSION = re.compile("[0-9a-f]{32}-[an]e?")


class UnknownSessionError(HostingError, code="unknown_session", status=404):
    """A session that this app did not begin."""


class HeaderMismatchError(HostingError, code="header_mismatch", status=400):
    """A header that says something else than the body, as nobody on the way may read it otherwise."""


class UnknownVersionError(HostingError, code="unknown_version", status=400):
    """A version of the protocol that is not served."""


class UnknownEventError(HostingError, code="unknown_event", status=400):
    """An id of an event that no stream of this app has."""


def new_session(version: str, *, asks: bool) -> str:
    """Return the id of a new session, with what the handshake says of its client.

    That is whether it puts questions to its person, and whether the agreed version has events without data.
    """
    empty = "e" if version >= FIRST_WITH_EMPTY_EVENTS else ""
    return f"{secrets.token_hex(16)}-{'a' if asks else 'n'}{empty}"


def session_traits(session: str) -> tuple[bool, bool]:
    """Return whether a session's client asks its person, and takes empty events; raises `UnknownSessionError`."""
    if not _SESSION.fullmatch(session):
        raise UnknownSessionError(f"There is no session {session[:80]!r}. Begin one with 'initialize'.")
    traits = session.partition("-")[2]
    return "a" in traits, "e" in traits


_NUMBERS: Mapping[int, tuple[type[HostingError], ...]] = {
    -32700: (errors.InvalidJsonError, errors.InvalidEncodingError),
    -32600: (InvalidRequestError, errors.InvalidBodyError, errors.BodyTooLargeError, errors.UnsupportedMediaTypeError),
    -32601: (MethodNotFoundError,),
    -32020: (HeaderMismatchError,),
    -32022: (UnknownVersionError,),
}
"""The JSON-RPC code of each error. Others are wrong parameters or ours."""

_NUMBER_OF = {kind: number for number, kinds in _NUMBERS.items() for kind in kinds}


def rpc_error(error: HostingError) -> dict[str, Any]:
    """Return a refusal as JSON-RPC has it, with our own code as its data."""
    is_ours = error.status >= 500 or is_later(error)
    data: dict[str, Any] = {"code": error.code}
    if is_later(error):
        data["retryAfterSeconds"] = retry_after(error)
    if isinstance(error, UnknownVersionError):
        data["supported"] = [*VERSIONS]
    number = _NUMBER_OF.get(type(error), -32603 if is_ours else -32602)
    return {"code": number, "message": error.detail, "data": data}


def mcp_refusal(error: HostingError, request_id: RequestId = None, *, status: int | None = None) -> Reply:
    """Return a refusal as an answer; without a `status` it has that of the error."""
    allow = {"allow": "POST, DELETE"} if isinstance(error, errors.MethodNotAllowedError) else None
    body = envelope(request_id, error=rpc_error(error))
    return refusal_reply(error, body, is_later=is_later(error), status=status, more=allow)
