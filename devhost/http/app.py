"""The host as one ASGI app: who answers a request, for which key, with how large a body.

The host's own endpoints come before the app's functions. Paths are compared without case and without 405s, which
Starlette's own router cannot.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from functools import partial

from starlette.datastructures import MutableHeaders
from starlette.requests import ClientDisconnect, HTTPConnection
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from devhost.bindings import HttpTrigger
from devhost.http.keys import Keys, given_key
from devhost.http.origins import is_loopback_name
from devhost.http.routes import BadPathError, Match, RouteTable, clean_path
from devhost.invoke import Invoker
from devhost.settings import HostSettings
from devhost.signature import HttpStyle

logger = logging.getLogger(__name__)

WEBHOOKS = "/runtime/webhooks"
_WEBHOOK_VERBS = frozenset({"GET", "PUT", "POST", "DELETE", "OPTIONS"})
_LINGER_SECONDS = 2.0
_FREE_PATHS = frozenset({"", "/admin/host/ping"})

Answer = Callable[[Match, Invoker, Scope, Receive, Send], Awaitable[None]]


class HostApp:
    """The whole host.

    `webhooks` are the extensions under `/runtime/webhooks/<name>`; `rpc` is the durable client's own door, which the
    real host opens on a second port. With `keys`, the host's own pages ask for the master key, but for the home page
    and the ping, a webhook asks for its key before it is looked up, and the durable client's door, which asks for none,
    is closed to other machines.
    """

    def __init__(
        self,
        functions: ASGIApp,
        admin: ASGIApp,
        webhooks: Mapping[str, ASGIApp],
        rpc: ASGIApp | None,
        keys: Keys | None,
    ) -> None:
        self._functions = functions
        self._admin = admin
        self._webhooks = webhooks
        self._rpc = rpc
        self._keys = keys

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        await self._endpoint_for(scope)(scope, receive, send)

    def _endpoint_for(self, scope: Scope) -> ASGIApp:
        """Return who answers; a refusal is a response, which is an ASGI app too."""
        path = scope["path"].lower()
        first = path[1:].partition("/")[0]
        # With an empty route prefix, verbs that read no home page may be a function's.
        if first == "admin" or (path == "/" and scope["method"] == "GET"):
            return self._admin_for(scope, path)
        if first == "durabletask" and self._rpc is not None:
            return self._rpc_for(scope, self._rpc)
        if first == "runtime" and path.startswith(f"{WEBHOOKS}/"):
            return self._webhook_for(scope)
        return self._functions

    def _admin_for(self, scope: Scope, path: str) -> ASGIApp:
        if self._keys is None or path.rstrip("/") in _FREE_PATHS:
            return self._admin
        return self._admin if self._keys.is_master(given_key(HTTPConnection(scope))) else _unauthorized()

    def _rpc_for(self, scope: Scope, rpc: ASGIApp) -> ASGIApp:
        client = scope.get("client")
        if self._keys is not None and not (client and is_loopback_name(client[0])):
            return Response(status_code=401)
        scope["root_path"] = "/durabletask"
        return rpc

    def _webhook_for(self, scope: Scope) -> ASGIApp:
        name = scope["path"][len(WEBHOOKS) + 1 :].partition("/")[0]
        refusal = self._keys.refusal_of_webhook(given_key(HTTPConnection(scope)), name) if self._keys else None
        if refusal is not None:
            return _unauthorized() if refusal == 401 else Response(status_code=refusal)
        scope["root_path"] = f"{WEBHOOKS}/{name}"
        webhook = self._webhooks.get(name.lower()) if scope["method"] in _WEBHOOK_VERBS else None
        return webhook or Response(status_code=404)


def _unauthorized() -> Response:
    """Return the 401 of the host's own pages and webhooks; that of the app's functions has no such header."""
    return Response(status_code=401, headers={"WWW-Authenticate": "Bearer"})


class FunctionsEndpoint:
    """Finds the function for a request and has it answered in the style of its annotation; 404 when there is none."""

    def __init__(self, routes: RouteTable, invoker: Invoker, settings: HostSettings, keys: Keys | None) -> None:
        """`keys` None asks for none."""
        self._routes = routes
        self._keys = keys
        self._invoker = invoker
        self._body_limit_bytes = settings.body_limit_bytes
        self._custom_headers = settings.custom_headers
        self._answers = _load_answers(routes)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        sender = self._with_custom_headers(send) if self._custom_headers else send
        await self._endpoint_for(scope)(scope, receive, sender)

    def _endpoint_for(self, scope: Scope) -> ASGIApp:
        try:
            match = self._routes.match(scope["method"], clean_path(scope["raw_path"]))
        except BadPathError:
            return Response(status_code=400)
        if match is None or match.function.http_style is None:
            return Response(status_code=404)
        trigger = match.function.trigger
        if self._keys is not None and isinstance(trigger, HttpTrigger):
            given = given_key(HTTPConnection(scope))
            if not self._keys.opens_function(given, match.function.name, trigger.auth_level):
                return Response(status_code=401)
        answer_request = partial(self._answers[match.function.http_style], match, self._invoker)
        return BodyLimit(answer_request, self._body_limit_bytes)

    def _with_custom_headers(self, send: Send) -> Send:
        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in self._custom_headers:
                    headers.setdefault(name, value)
            await send(message)

        return send_with_headers


def _load_answers(routes: RouteTable) -> Mapping[HttpStyle, Answer]:
    """Import what the app uses only: an app of classic functions need not have FastAPI installed."""
    answers: dict[HttpStyle, Answer] = {}
    styles = {route.function.http_style for route in routes.routes}
    if "classic" in styles:
        from devhost.http import classic

        answers["classic"] = classic.answer_request
    if "fastapi" in styles:
        from devhost.http import fastapi_mode

        answers["fastapi"] = fastapi_mode.answer_request
    return answers


class BodyTooLargeError(ClientDisconnect):
    """The request's body is over the limit; to who reads it, the request has ended."""


class BodyLimit:
    """An app that is given bodies up to the limit; beyond it, an empty 413 ends the connection.

    The limit holds before anything is kept: a declared length is refused unread, a chunked body where its bytes pass
    the limit. A client that leaves before its body is whole ends the request with one debug line. Starlette's
    RequestBodyLimitMiddleware is not used: it answers with a text. The real host answers 500, as if it had failed.
    """

    def __init__(self, app: ASGIApp, limit_bytes: int) -> None:
        self._app = app
        self._limit_bytes = limit_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand the request on, and answer in the app's place when its body is too large."""
        body = _CountedBody(receive, send, self._limit_bytes)
        declared = next((value for name, value in scope["headers"] if name == b"content-length"), b"")
        if int(declared or 0) > self._limit_bytes:
            body.is_too_large = True
        else:
            try:
                await self._app(scope, body.receive, body.send)
            except ClientDisconnect:
                if not body.is_too_large:
                    return
            finally:
                if body.has_client_left:
                    logger.debug("A client left in its request: %s %s", scope["method"], scope["path"])
        if body.is_too_large and not body.is_answered:
            await _refuse_body(receive, send)


async def _refuse_body(receive: Receive, send: Send) -> None:
    """Answer 413, and take what still comes for a moment, keeping none of it, before the connection ends.

    A socket that is closed with unread bytes is reset: a client that writes its whole body first, as most do, would
    meet the reset and never read the answer.
    """
    headers = [(b"content-length", b"0"), (b"connection", b"close")]
    await send({"type": "http.response.start", "status": 413, "headers": headers})
    with suppress(TimeoutError):
        await asyncio.wait_for(_read_to_the_end(receive), _LINGER_SECONDS)
    await send({"type": "http.response.body"})


async def _read_to_the_end(receive: Receive) -> None:
    while (await receive()).get("more_body", False):
        pass


class _CountedBody:
    """A request's body as it is read, and its answer, which is dropped when it begins after the limit."""

    def __init__(self, receive: Receive, send: Send, limit_bytes: int) -> None:
        self.is_too_large = False
        self.is_answered = False
        self.has_client_left = False
        self._is_whole = False
        self._receive = receive
        self._send = send
        self._left = limit_bytes

    async def receive(self) -> Message:
        if self.is_too_large:
            raise BodyTooLargeError
        message = await self._receive()
        if message["type"] == "http.disconnect":
            self.has_client_left |= not self._is_whole
        else:
            self._is_whole |= not message.get("more_body", False)
        self._left -= len(message.get("body", b""))
        if self._left < 0:
            self.is_too_large = True
            raise BodyTooLargeError
        return message

    async def send(self, message: Message) -> None:
        if not self.is_too_large or self.is_answered:
            self.is_answered = True
            await self._send(message)
