"""A request and a reply of the management API, and the ASGI end of both."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from urllib.parse import parse_qs

from starlette.requests import Request as StarletteRequest
from starlette.responses import Response
from starlette.types import Receive, Scope

from devhost.durable.texts import compact

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


def json_reply(status: int, content: object, headers: Mapping[str, str] | None = None) -> Response:
    """Return a response whose body is the content as compact JSON."""
    return text_reply(status, compact(content), headers)


def text_reply(status: int, text: str, headers: Mapping[str, str] | None = None) -> Response:
    """Return a response whose body is this JSON text as it is."""
    return Response(text, status, headers, media_type=_JSON)


async def read_request(scope: Scope, receive: Receive) -> Request:
    """Return the request with its whole body; `scope["path"]` is full, as ASGI servers give it, or relative.

    Raises Starlette's `ClientDisconnect` when the client leaves before its body is whole.
    """
    headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
    return Request(
        method=scope["method"],
        path=scope["path"].removeprefix(scope.get("root_path", "")),
        headers=headers,
        body=await StarletteRequest(scope, receive).body(),
        scheme=scope.get("scheme", "http"),
        query_string=scope.get("query_string", b""),
    )
