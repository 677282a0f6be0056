"""Functions on the FastAPI extension's types: Starlette requests in, responses and streams out.

On the real host these requests pass through the worker's own web server, which is why they carry forwarding headers,
and why a failed function is answered with a text and not, as in classic mode, with nothing. That server, a uvicorn with
its own logging, also prints each request with its whole query, and the host keeps what is printed (recorded).
"""

from __future__ import annotations

import logging
import logging.config
import re
import uuid
from collections.abc import AsyncIterable
from urllib.parse import quote

from azure.functions.meta import Datum
from fastapi.encoders import jsonable_encoder
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.types import Message, Receive, Scope, Send
from uvicorn.config import LOGGING_CONFIG

from devhost.http.routes import Match
from devhost.invoke import Invoker
from devhost.isolation import Chunks, Raised, run_apart, run_here
from devhost.ports import FunctionFailedError

logger = logging.getLogger(__name__)
_ACCESS = "uvicorn.access"
access = logging.getLogger(_ACCESS)
_ROUTED = re.compile(r"/.*$")
_METHODS = ("GET", "POST", "DELETE", "HEAD", "PATCH", "PUT", "OPTIONS")
_ADDED = frozenset({b"x-ms-invocation-id", b"x-forwarded-for", b"x-forwarded-host", b"x-forwarded-proto"})


def set_up_access_log() -> None:
    """Set up the log of requests as the worker's server does: after the app is loaded, whatever the app made of it.

    The logger gets uvicorn's handler, to stdout, and its level; those that it had are gone, and filters stay.
    """
    config = {
        "version": 1,
        "disable_existing_loggers": False,
        **{part: {"access": LOGGING_CONFIG[part]["access"]} for part in ("formatters", "handlers")},
        "loggers": {_ACCESS: LOGGING_CONFIG["loggers"][_ACCESS]},
    }
    logging.config.dictConfig(config)


async def answer_request(match: Match, invoker: Invoker, scope: Scope, receive: Receive, send: Send) -> None:
    """Run the function and send its response; a client that leaves cancels a stream's generator.

    A path with a line break, and a method that few have, reach no function: the worker's own router answers those.
    """
    if (refusal := _refusal(scope)) is not None:
        await refusal(scope, receive, send)
        return
    invocation_id = str(uuid.uuid4())
    scope["headers"] = _forwarded_headers(scope, invocation_id)
    scope["path_params"] = dict(match.values)
    receive, send = _logged(scope, receive, send)
    try:
        request = Request(scope, receive)
        members = {name: Datum(value, "string") for name, value in {**request.query_params, **match.values}.items()}
        result = await invoker.call(match.function, request, invocation_id, members)
        response = _to_response(result)
    except FunctionFailedError as error:
        response = _failure(error)
    except Exception:
        logger.exception("Function '%s' returned a response that cannot be sent", match.function.name)
        response = _internal_error()
    await _send_response(match.function.name, response, scope, receive, send)


def _logged(scope: Scope, receive: Receive, send: Send) -> tuple[Receive, Send]:
    """Have the answer printed when it begins, unless its client has left by then: the worker's server does so."""
    has_left = False

    async def receive_noted() -> Message:
        nonlocal has_left
        message = await receive()
        has_left = has_left or message["type"] == "http.disconnect"
        return message

    async def send_logged(message: Message) -> None:
        if message["type"] == "http.response.start" and not has_left:
            path = "?".join(filter(None, [quote(scope["path"]), scope["query_string"].decode("latin-1")]))
            client = ":".join(map(str, scope.get("client") or ()))
            access.info('%s - "%s %s HTTP/%s" %d', client, scope["method"], path, "1.1", message["status"])
        await send(message)

    return receive_noted, send_logged


def _refusal(scope: Scope) -> Response | None:
    if not _ROUTED.match(scope["path"]):
        return JSONResponse({"detail": "Not Found"}, 404)
    if scope["method"] not in _METHODS:
        return JSONResponse({"detail": "Method Not Allowed"}, 405, {"allow": ", ".join(_METHODS)})
    return None


def _forwarded_headers(scope: Scope, invocation_id: str) -> list[tuple[bytes, bytes]]:
    """Return the headers as the worker's web server gets them: those that came twice joined, and the host's own."""
    client = scope.get("client")
    kept: dict[bytes, bytes] = {}
    for name, value in scope["headers"]:
        if name not in _ADDED:
            separator = b"; " if name == b"cookie" else b", "
            kept[name] = kept[name] + separator + value if name in kept else value
    host = kept.get(b"host", b"")
    return [
        *kept.items(),
        (b"x-ms-invocation-id", invocation_id.encode()),
        (b"x-forwarded-for", client[0].encode() if client else b""),
        (b"x-forwarded-host", host),
        (b"x-forwarded-proto", scope["scheme"].encode()),
    ]


def _to_response(result: object) -> Response:
    if isinstance(result, Response):
        return result
    if result is None:
        logger.error("An HTTP function returned None; it must return a response")
        return _internal_error()
    return JSONResponse(jsonable_encoder(result))


def _failure(error: FunctionFailedError) -> Response:
    cause = error.__cause__
    if isinstance(cause, HTTPException):
        return JSONResponse({"detail": cause.detail}, status_code=cause.status_code, headers=cause.headers)
    return _internal_error()


def _internal_error() -> Response:
    return PlainTextResponse("Internal Server Error", status_code=500)


async def _send_response(name: str, response: Response, scope: Scope, receive: Receive, send: Send) -> None:
    """Send the response; a stream that fails after its first chunk just ends, as on the real host."""
    sent = _Sent(receive, send)
    # Not only of `StreamingResponse`: other libraries' streams are read in tasks of their senders' too.
    stream = getattr(response, "body_iterator", None)
    if isinstance(stream, AsyncIterable):
        response.body_iterator = Chunks(stream)  # type: ignore[attr-defined]
    run = run_here if _holds_no_code(response) else run_apart
    ended = await run(lambda: response(scope, sent.receive, sent.send))
    if isinstance(ended, Raised):
        logger.error("A response of function '%s' failed while it was sent", name, exc_info=ended.error)
        if sent.has_length and not sent.is_whole:
            raise FunctionFailedError.of(ended.error) from ended.error
    elif not sent.is_whole and not sent.has_client_left:
        # The sender takes a generator that raises CancelledError for one that it cancelled itself.
        logger.error("A response of function '%s' cancelled itself while it was sent", name)
    if not sent.has_begun:
        await _internal_error()(scope, receive, send)
    elif not sent.is_whole:
        await send({"type": "http.response.body", "body": b""})


def _holds_no_code(response: Response) -> bool:
    """Return whether only Starlette's own code runs when the response is sent: its bytes are there."""
    return type(response).__call__ is Response.__call__ and response.background is None


class _Sent:
    """What of a response has passed, and whether there is still a client to send it to."""

    def __init__(self, receive: Receive, send: Send) -> None:
        self.has_begun = False
        self.has_length = False
        self.is_whole = False
        self.has_client_left = False
        self._receive = receive
        self._send = send

    async def receive(self) -> Message:
        message = await self._receive()
        self.has_client_left |= message["type"] == "http.disconnect"
        return message

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.has_begun = True
            self.has_length = any(name == b"content-length" for name, _ in message["headers"])
        elif message["type"] == "http.response.body":
            self.is_whole = not message.get("more_body", False)
        await self._send(message)
