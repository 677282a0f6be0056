"""The MCP server over streamable HTTP, stateless, answering each call with one event.

What the extension keeps of a session stands in the client's `Mcp-Session-Id` header: a client id and the id of the host
instance, open text without keys. Any host's will do, as nothing is kept here.
"""

from __future__ import annotations

import re
import secrets
import string

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import Receive, Scope, Send

from devhost.mcp.jsonrpc import (
    MOST_LEVELS,
    TRANSPORT_ERROR,
    Call,
    CallError,
    EmptyMessageError,
    Notice,
    TooDeepError,
    UnreadableError,
    error_message,
    parse_message,
    result_message,
)
from devhost.mcp.server import Caller, McpServer

_NO_MESSAGE = "Bad Request: The POST body did not contain a valid JSON-RPC message."
_TOO_DEEP = f"Bad Request: The POST body is nested deeper than {MOST_LEVELS} levels."
_NOT_ACCEPTABLE = "Not Acceptable: Client must accept both application/json and text/event-stream"
_STATE = re.compile(r"[A-Za-z0-9]{1,64}\|[A-Za-z0-9]{1,64}")
_ALPHABET = string.ascii_lowercase + string.digits
_BAD_STATE = "Invalid client state."
_LEGACY_PATHS = ("/mcp/sse", "/mcp/message")
_NO_LEGACY = "The local host has no legacy SSE transport. Use streamable HTTP: POST to /runtime/webhooks/mcp."
_WRONG_VERBS = frozenset({"GET", "DELETE", "PUT", "OPTIONS"})
_STREAM_HEADERS = {
    "cache-control": "no-cache,no-store",
    "connection": "keep-alive",
    "content-encoding": "identity",
}


class McpEndpoint:
    """The ASGI app under `/runtime/webhooks/mcp`, any path below it included."""

    def __init__(self, server: McpServer) -> None:
        self._server = server
        self._instance_id = _new_id()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        response = await self._answer(Request(scope, receive))
        await response(scope, receive, send)

    async def _answer(self, request: Request) -> Response:
        if request.url.path.lower().endswith(_LEGACY_PATHS):
            return PlainTextResponse(_NO_LEGACY, 404)
        if request.method != "POST":
            return Response(status_code=405 if request.method in _WRONG_VERBS else 404)
        try:
            return _refusal(request) or await self._answer_message(request)
        except EmptyMessageError:
            return _refused(400, _NO_MESSAGE)
        except TooDeepError:
            return _refused(400, _TOO_DEEP)
        except UnreadableError:
            # As recorded; the caller's mistake all the same.
            return Response(status_code=500)

    async def _answer_message(self, request: Request) -> Response:
        if not _is_json(request.headers.get("content-type", "")):
            raise UnreadableError
        message = parse_message(await request.body())
        if isinstance(message, Notice):
            return Response(status_code=202, headers=_STREAM_HEADERS)
        event = b"event: message\ndata: " + await self._event(message, _caller(request)) + b"\n\n"
        headers = {"content-type": "text/event-stream", **_STREAM_HEADERS}
        if message.method == "initialize":
            headers["mcp-session-id"] = f"{_new_id()}|{self._instance_id}"
        response = Response(event, headers=headers)
        # No length, as of a stream.
        del response.headers["content-length"]
        return response

    async def _event(self, call: Call, caller: Caller) -> bytes:
        try:
            return result_message(call.id, await self._server.answer(call, caller))
        except CallError as error:
            return error_message(call.id, error.code, error.message)


def _refused(status: int, message: str) -> Response:
    body = error_message("", TRANSPORT_ERROR, message)
    return Response(body, status, media_type="application/json; charset=utf-8")


def _refusal(request: Request) -> Response | None:
    accepted = {part.partition(";")[0].strip().lower() for part in request.headers.get("accept", "").split(",")}
    if not (_accepts(accepted, "application/json") and _accepts(accepted, "text/event-stream")):
        return _refused(406, _NOT_ACCEPTABLE)
    state = request.headers.get("mcp-session-id")
    return _refused(400, _BAD_STATE) if state and not _STATE.fullmatch(state) else None


def _accepts(accepted: set[str], media_type: str) -> bool:
    return not accepted.isdisjoint({media_type, f"{media_type.partition('/')[0]}/*", "*/*"})


def _is_json(content_type: str) -> bool:
    media_type = content_type.partition(";")[0].strip().lower()
    return media_type == "application/json" or (media_type.startswith("application/") and media_type.endswith("+json"))


def _caller(request: Request) -> Caller:
    """Return who calls, with the headers for the tool, values joined with commas.

    The web server has put the names into lower case; `Title-Case` is what Kestrel gives all names that it knows.
    """
    names = dict.fromkeys(name.title() for name in request.headers)
    shown = {name: ",".join(request.headers.getlist(name)) for name in names}
    return Caller(request.headers.get("mcp-session-id") or None, shown)


def _new_id() -> str:
    return "".join(secrets.choice(_ALPHABET) for _ in range(16))
