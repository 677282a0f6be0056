"""Reading request bodies under the host's size limit (host contract 2.4)."""

from __future__ import annotations

from devhost.http.asgi import Message, Receive, Scope, header


class BodyTooLargeError(Exception):
    """The request's body is over the limit."""


class ClientLeftError(Exception):
    """The client closed the connection before its request was whole."""


def limited(scope: Scope, receive: Receive, limit_bytes: int) -> Receive:
    """Return a `receive` that raises `BodyTooLargeError` past the limit.

    A declared length is checked at once; only chunked bodies, which declare none, are counted on the way.
    """
    declared = header(scope, b"content-length")
    if declared:
        if int(declared) > limit_bytes:
            raise BodyTooLargeError
        return receive
    return _counted(receive, limit_bytes) if header(scope, b"transfer-encoding") else receive


def _counted(receive: Receive, limit_bytes: int) -> Receive:
    seen = 0

    async def receive_counted() -> Message:
        nonlocal seen
        message = await receive()
        seen += len(message.get("body", b""))
        if seen > limit_bytes:
            raise BodyTooLargeError
        return message

    return receive_counted


async def read_body(receive: Receive) -> bytes:
    """Return the whole body; raise `ClientLeftError` when the client leaves before its end."""
    chunks: list[bytes] = []
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientLeftError
        chunks.append(message.get("body", b""))
        if not message.get("more_body"):
            return b"".join(chunks)
