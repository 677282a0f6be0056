"""A request and a reply of the management API, and the ASGI end of both."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any
from urllib.parse import parse_qs

from devhost.durable.texts import compact

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
ASGIApp = Callable[[Scope, Receive, Send], Awaitable[None]]

_JSON = "application/json; charset=utf-8"


@dataclass(frozen=True)
class Request:
    """One request; `path` is decoded and relative to the mount, `headers` have lower-case names."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes
    scheme: str
    query_string: bytes

    @cached_property
    def query(self) -> Mapping[str, list[str]]:
        """The query's values by lower-case name; unreadable text stays as it is."""
        found: dict[str, list[str]] = {}
        for name, values in parse_qs(self.query_string.decode("latin-1"), keep_blank_values=True).items():
            found.setdefault(name.lower(), []).extend(values)
        return found

    @property
    def origin(self) -> str:
        """Scheme and host as the caller wrote them."""
        return f"{self.scheme}://{self.headers.get('host', 'localhost')}"

    def parameter(self, name: str) -> str | None:
        """Return the first value of a query parameter (lower-case name), or None."""
        values = self.query.get(name)
        return values[0] if values else None

    def flag(self, name: str, default: bool = False) -> bool:
        """Return a boolean parameter; what is neither true nor false counts as not given."""
        return {"true": True, "false": False}.get((self.parameter(name) or "").lower(), default)


@dataclass(frozen=True)
class Reply:
    """One reply; without a body it has no content type, as the real host answers."""

    status: int
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)


def json_reply(status: int, content: object, headers: Mapping[str, str] | None = None) -> Reply:
    """Return a reply whose body is the content as compact JSON."""
    return text_reply(status, compact(content), headers)


def text_reply(status: int, text: str, headers: Mapping[str, str] | None = None) -> Reply:
    """Return a reply whose body is this JSON text as it is."""
    return Reply(status, text.encode(), {"Content-Type": _JSON, **(headers or {})})


async def read_request(scope: Scope, receive: Receive) -> Request:
    """Return the request with its whole body; `scope["path"]` is full, as ASGI servers give it, or relative."""
    return Request(
        method=scope["method"],
        path=scope["path"].removeprefix(scope.get("root_path", "")),
        headers={name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]},
        body=await _read_body(receive),
        scheme=scope.get("scheme", "http"),
        query_string=scope.get("query_string", b""),
    )


async def send_reply(reply: Reply, send: Send) -> None:
    headers = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in reply.headers.items()]
    headers.append((b"content-length", str(len(reply.body)).encode()))
    await send({"type": "http.response.start", "status": reply.status, "headers": headers})
    await send({"type": "http.response.body", "body": reply.body})


async def _read_body(receive: Receive) -> bytes:
    message = await receive()
    body: bytes = message.get("body", b"")
    if not message.get("more_body"):
        return body
    parts = [body]
    while message.get("more_body"):
        message = await receive()
        parts.append(message.get("body", b""))
    return b"".join(parts)
