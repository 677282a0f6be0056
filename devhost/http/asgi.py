"""The ASGI types, and the plain answers that every endpoint of the host shares."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
ASGIApp = Callable[[Scope, Receive, Send], Awaitable[None]]
RawHeaders = list[tuple[bytes, bytes]]

TEXT = "text/plain; charset=utf-8"
JSON = "application/json; charset=utf-8"


async def answer(
    send: Send, status: int, body: bytes = b"", content_type: str = "", headers: Iterable[tuple[str, str]] = ()
) -> None:
    """Send a whole response with its `Content-Length`; header names must be in lower case."""
    raw = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers]
    if content_type:
        raw.append((b"content-type", content_type.encode("latin-1")))
    raw.append((b"content-length", str(len(body)).encode()))
    await send({"type": "http.response.start", "status": status, "headers": raw})
    await send({"type": "http.response.body", "body": body})


def header(scope: Scope, name: bytes) -> str:
    """Return the first value of a request header, empty when it was not sent; the name in lower case."""
    for key, value in scope["headers"]:
        if key == name:
            text: str = value.decode("latin-1")
            return text
    return ""
