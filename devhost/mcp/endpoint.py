"""The MCP server over streamable HTTP, stateless, answering each call with one event (host contract 5.2, 5.3)."""

from __future__ import annotations

from collections.abc import Mapping

from devhost.http.asgi import JSON, TEXT, RawHeaders, Receive, Scope, Send, answer, header
from devhost.http.body import BodyTooLargeError, ClientLeftError, limited, read_body
from devhost.mcp.invocation import Caller
from devhost.mcp.jsonrpc import (
    TRANSPORT_ERROR,
    Call,
    CallError,
    EmptyMessageError,
    Notice,
    UnreadableError,
    error_message,
    parse_message,
    result_message,
)
from devhost.mcp.server import McpServer
from devhost.mcp.session import is_state, new_instance_id, new_state

_NO_MESSAGE = "Bad Request: The POST body did not contain a valid JSON-RPC message."
_NOT_ACCEPTABLE = "Not Acceptable: Client must accept both application/json and text/event-stream"
_BAD_STATE = "Invalid client state."
_LEGACY_PATHS = ("/mcp/sse", "/mcp/message")
_NO_LEGACY = "The local host has no legacy SSE transport. Use streamable HTTP: POST to /runtime/webhooks/mcp."
_WRONG_VERB = {"GET": 405, "DELETE": 405, "PUT": 405, "OPTIONS": 405}
_STREAM_HEADERS = (
    ("cache-control", "no-cache,no-store"),
    ("connection", "keep-alive"),
    ("content-encoding", "identity"),
)


class McpEndpoint:
    """The ASGI app under `/runtime/webhooks/mcp`, any path below it included."""

    def __init__(self, server: McpServer, body_limit_bytes: int) -> None:
        self._server = server
        self._body_limit_bytes = body_limit_bytes
        self._instance_id = new_instance_id()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["path"].lower().endswith(_LEGACY_PATHS):
            await answer(send, 404, _NO_LEGACY.encode(), TEXT)
            return
        if scope["method"] != "POST":
            await answer(send, _WRONG_VERB.get(scope["method"], 404))
            return
        refusal = _refusal(scope)
        if refusal is not None:
            status, message = refusal
            await answer(send, status, error_message("", TRANSPORT_ERROR, message), JSON)
            return
        try:
            await self._answer_message(scope, receive, send)
        except EmptyMessageError:
            await answer(send, 400, error_message("", TRANSPORT_ERROR, _NO_MESSAGE), JSON)
        except (UnreadableError, BodyTooLargeError):
            await answer(send, 500)
        except ClientLeftError:
            return

    async def _answer_message(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not _is_json(header(scope, b"content-type")):
            raise UnreadableError
        message = parse_message(await read_body(limited(scope, receive, self._body_limit_bytes)))
        if isinstance(message, Notice):
            await answer(send, 202, headers=_STREAM_HEADERS)
            return
        event = await self._event(message, _caller(scope))
        await _send_event(send, event, new_state(self._instance_id) if message.method == "initialize" else None)

    async def _event(self, call: Call, caller: Caller) -> bytes:
        try:
            return result_message(call.id, await self._server.answer(call, caller))
        except CallError as error:
            return error_message(call.id, error.code, error.message)


def _refusal(scope: Scope) -> tuple[int, str] | None:
    accepted = {part.partition(";")[0].strip().lower() for part in header(scope, b"accept").split(",")}
    if not (_accepts(accepted, "application/json") and _accepts(accepted, "text/event-stream")):
        return 406, _NOT_ACCEPTABLE
    state = header(scope, b"mcp-session-id")
    if state and not is_state(state):
        return 400, _BAD_STATE
    return None


def _accepts(accepted: set[str], media_type: str) -> bool:
    return not accepted.isdisjoint({media_type, f"{media_type.partition('/')[0]}/*", "*/*"})


def _is_json(content_type: str) -> bool:
    media_type = content_type.partition(";")[0].strip().lower()
    return media_type == "application/json" or (media_type.startswith("application/") and media_type.endswith("+json"))


def _caller(scope: Scope) -> Caller:
    return Caller(header(scope, b"mcp-session-id") or None, _shown_headers(scope["headers"]))


def _shown_headers(headers: RawHeaders) -> Mapping[str, str]:
    """Return the headers for the tool, values joined with commas.

    The web server has put the names into lower case; `Title-Case` is what Kestrel gives all names that it knows.
    """
    shown: dict[str, str] = {}
    for raw_name, raw_value in headers:
        name, value = raw_name.decode("latin-1").title(), raw_value.decode("latin-1")
        shown[name] = f"{shown[name]},{value}" if name in shown else value
    return shown


async def _send_event(send: Send, message: bytes, state: str | None) -> None:
    headers = [(b"content-type", b"text/event-stream")]
    headers += [(name.encode(), value.encode()) for name, value in _STREAM_HEADERS]
    if state is not None:
        headers.append((b"mcp-session-id", state.encode()))
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": b"event: message\ndata: " + message + b"\n\n"})
