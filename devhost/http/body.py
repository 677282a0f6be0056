"""The host's size limit on request bodies (host contract 2.4).

It holds before anything is kept: a declared length is refused unread, a chunked body where its bytes pass the limit.
Starlette's RequestBodyLimitMiddleware is not used: it answers 413 with a text, the real host an empty 500.
"""

from __future__ import annotations

from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send


class BodyTooLargeError(ClientDisconnect):
    """The request's body is over the limit; to who reads it, the request has ended."""


class BodyLimit:
    """An app that is given bodies up to the limit; beyond it, an empty answer of this status ends the connection.

    Clients that leave before their body is whole end the request without a word.
    """

    def __init__(self, app: ASGIApp, limit_bytes: int, status: int) -> None:
        self._app = app
        self._limit_bytes = limit_bytes
        self._status = status

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand the request on, and answer in the app's place when its body is too large."""
        body = _Counted(receive, send, self._limit_bytes)
        if int(Headers(scope=scope).get("content-length") or 0) > self._limit_bytes:
            body.is_too_large = True
        else:
            try:
                await self._app(scope, body.receive, body.send)
            except ClientDisconnect:
                if not body.is_too_large:
                    return
        if body.is_too_large and not body.is_answered:
            refusal = Response(status_code=self._status, headers={"connection": "close"})
            await refusal(scope, receive, send)


class _Counted:
    """A request's body as it is read, and its answer, which is dropped when it begins after the limit."""

    def __init__(self, receive: Receive, send: Send, limit_bytes: int) -> None:
        self.is_too_large = False
        self.is_answered = False
        self._receive = receive
        self._send = send
        self._left = limit_bytes

    async def receive(self) -> Message:
        if self.is_too_large:
            raise BodyTooLargeError
        message = await self._receive()
        self._left -= len(message.get("body", b""))
        if self._left < 0:
            self.is_too_large = True
            raise BodyTooLargeError
        return message

    async def send(self, message: Message) -> None:
        if not self.is_too_large or self.is_answered:
            self.is_answered = True
            await self._send(message)
