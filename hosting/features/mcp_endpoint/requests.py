"""Reads the messages of a client: requests, notifications, and answers to what it was asked."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from hosting.core.request.fields import read_text
from hosting.errors import HostingError, InvalidFieldError
from hosting.features.mcp_endpoint import names
from hosting.http.json_rpc import InvalidRequestError, RequestId, read_rpc_members
from hosting.http.run_call import RawRequest, read_idempotency_key
from hosting.http.wire import Schema, WireDocument, WireOperation, object_schema
from hosting.names import is_id
from hosting.strict_json.parsing import json_type, parse_text

_NAMED_BY = {"tools/call": "name", "resources/read": "uri"}
"""The parameter that stands in the header Mcp-Name too, by the method."""
_Members = Mapping[str, Any]


class ClientMessage(Struct, frozen=True):
    """One message of a client, in a `version` of the protocol.

    A request has a `method` and an `id`, a notification only a method, and an answer an id and a `result`, which is
    None where the client could not ask. The client `asks` its person what is put to it, and in a stream it may take
    events without data. Under the `session` its requests have ids of their own.
    """

    version: str
    id: RequestId = None
    method: str = ""
    params: _Members = {}
    result: _Members | None = None
    asks: bool = False
    takes_empty_events: bool = False
    session: str = ""
    key: str | None = None
    traceparent: str | None = None

    @property
    def is_stateless(self) -> bool:
        """Whether the version has no handshake, and no more than one request in a stream."""
        return self.version == names.NEWEST_VERSION

    @property
    def progress_token(self) -> str | int | None:
        """The token under which the client takes progress, None if it takes none."""
        token = members(self.params, "_meta").get("progressToken")
        return token if isinstance(token, str | int) and not isinstance(token, bool) else None

    def run_key(self, request_id: RequestId) -> str | None:
        """Return the idempotency key of a request of this session, or of this one; None where it has none."""
        if self.key is not None:
            return self.key
        return f"mcp-{_digest([self.session, request_id])}" if self.session else None


class Cursor(Struct, frozen=True):
    """A place in the stream of a call: what the call was, its run, and the position in the log.

    `is_asked`: the client has the questions with which the run ended.
    """

    request_id: RequestId
    agent: str
    thread_id: str
    run_id: str
    position: int
    token: str | int | None
    version: str
    asks: bool
    is_asked: bool = False

    def text(self) -> str:
        """Return it as the id of an event."""
        return base64.urlsafe_b64encode(json.dumps(list(_values(self))).encode()).decode().rstrip("=")


def _values(cursor: Cursor) -> tuple[Any, ...]:
    return tuple(getattr(cursor, name) for name in Cursor.__struct_fields__)


_KINDS: tuple[Any, ...] = (str | int, str, str, str, int, str | int | None, str, bool, bool)


def read_event_id(text: str) -> Cursor:
    """Return the place of an event's id; raises `UnknownEventError`."""
    try:
        padded = text + "=" * (-len(text) % 4)
        values = parse_text(base64.b64decode(padded, altchars=b"-_", validate=True).decode())
    except (binascii.Error, ValueError, HostingError):
        values = None
    is_cursor = (
        isinstance(values, list)
        and len(values) == len(_KINDS)
        and all(isinstance(value, kind) for value, kind in zip(values, _KINDS, strict=True))
        and not any(isinstance(values[number], bool) for number in (0, 4, 5))
        and is_id(values[3])
        and values[4] >= 0
    )
    if not is_cursor:
        raise names.UnknownEventError(f"There is no event {text[:80]!r}. Send the call again.")
    return Cursor(*values)


def read_client_message(raw: RawRequest, most_bytes: int) -> ClientMessage:
    """Return the message in a body; raises `HostingError`s for what is none of the protocol."""
    fields = read_rpc_members(raw, most_bytes)
    method, request_id, params = fields.get("method", ""), fields.get("id"), fields.get("params")
    if "id" in fields and request_id is None:
        raise InvalidRequestError("The member 'id' must be a text or a whole number.")
    if params is not None and not isinstance(params, dict):
        raise InvalidRequestError(f"The member 'params' is a JSON {json_type(params)}. Send an object.")
    result = fields.get("result")
    message = ClientMessage(
        version=raw.headers.get(names.VERSION, names.DEFAULT_VERSION),
        id=request_id,
        method=method,
        params=params or {},
        result=result if isinstance(result, dict) else None,
        key=read_idempotency_key(raw.headers),
        traceparent=raw.headers.get("traceparent"),
    )
    return message if method == "initialize" else _with_client(message, raw.headers)


def _with_client(message: ClientMessage, headers: Mapping[str, str]) -> ClientMessage:
    """Return the message with what is known of its client; raises what the protocol says of versions and headers."""
    if message.is_stateless and message.method:
        meta = members(message.params, "_meta")
        if missing := [name for name in (names.META_VERSION, names.META_CAPABILITIES) if name not in meta]:
            raise InvalidFieldError(f"params._meta has no {missing[0]!r}. Send it with each request.")
        _check_headers(message, meta, headers)
        return replace(message, asks=takes_forms(meta[names.META_CAPABILITIES]), takes_empty_events=True)
    if message.version not in names.VERSIONS:
        raise names.UnknownVersionError(
            f"The header MCP-Protocol-Version is {message.version[:40]!r}. Send one of {', '.join(names.VERSIONS)}."
        )
    takes_empty = message.version >= names.FIRST_WITH_EMPTY_EVENTS
    if not (session := headers.get(names.SESSION, "")):
        return replace(message, takes_empty_events=takes_empty)
    asks, agreed = names.session_traits(session)
    return replace(message, session=session, asks=asks, takes_empty_events=takes_empty or agreed)


def _check_headers(message: ClientMessage, meta: _Members, headers: Mapping[str, str]) -> None:
    """Raise `HeaderMismatchError` where a header for proxies says something else than the body."""
    bodies = {names.VERSION: meta[names.META_VERSION], "mcp-method": message.method}
    named = message.params.get(_NAMED_BY.get(message.method, ""))
    if named is not None:
        bodies["mcp-name"] = named
    for header, value in bodies.items():
        if headers.get(header) != value:
            raise names.HeaderMismatchError(
                f"The header {header} is {str(headers.get(header))[:80]!r} and the body has {str(value)[:80]!r}."
            )


def members(fields: _Members, name: str) -> _Members:
    """Return a member that is an object; an empty one in place of whatever else is there."""
    value = fields.get(name)
    return value if isinstance(value, dict) else {}


def read_completion(params: _Members, templates: Sequence[str]) -> tuple[str, str, str]:
    """Return the argument of one of these templates that is to be completed, its text so far, and the agent before it.

    Raises `InvalidFieldError`.
    """
    ref, argument = members(params, "ref"), members(params, "argument")
    if ref.get("type") != "ref/resource" or ref.get("uri") not in templates:
        raise InvalidFieldError(f"params.ref is no resource template of this app. Templates: {', '.join(templates)}.")
    agent = members(members(params, "context"), "arguments").get("agent", "")
    name, value = (read_text(f"params.argument.{name}", argument.get(name)) for name in ("name", "value"))
    return name, value, read_text("params.context.arguments.agent", agent)


def takes_forms(capabilities: object) -> bool:
    """Return whether a client with these capabilities shows forms to its person."""
    elicitation = capabilities.get("elicitation") if isinstance(capabilities, dict) else None
    return isinstance(elicitation, dict) and (not elicitation or "form" in elicitation)


def _digest(value: object) -> str:
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()[:40]


_OBJECT: Schema = {"type": "object"}
_MESSAGE = object_schema(
    {
        "jsonrpc": {"const": "2.0"},
        "id": {"type": ["string", "integer"]},
        "method": {"type": "string"},
        "params": _OBJECT,
        "result": _OBJECT,
        "error": _OBJECT,
    },
    "jsonrpc",
)
_REFUSED = object_schema({"jsonrpc": {"const": "2.0"}, "error": _OBJECT}, "error")
_OPERATIONS = (
    WireOperation(names.CALL, _MESSAGE, _MESSAGE, streams=True),
    WireOperation(names.RESUME, None, streams=True),
    WireOperation(names.LEAVE, object_schema({})),
)
MCP_DOCUMENT = WireDocument(_REFUSED, lambda agents: _OPERATIONS)
"""The wire in the OpenAPI document: what it takes and answers, in outline."""
