"""What a classic function returned, as the host sends it (host contract 2.3)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from http.cookies import Morsel, SimpleCookie

from azure.functions.meta import Datum

from devhost.http.asgi import TEXT

_BODILESS = frozenset({204, 304})


class UnsendableError(Exception):
    """The function's response is none that HTTP can carry."""


@dataclass(frozen=True)
class ClassicResponse:
    """A whole response; header names in lower case, without `content-length`."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes


def response_of(datum: Datum) -> ClassicResponse:
    """Return the response that the converter's datum means; raise `UnsendableError` for bad statuses and headers."""
    if datum.type == "string":
        return _from_text(datum.value)
    parts = datum.value
    headers = {name.lower(): value.value for name, value in parts["headers"].items()}
    body: bytes = parts["body"].value
    return _checked(parts["status_code"].value, headers, body, _cookies(parts["cookies"] or ()))


def _checked(status: object, headers: Mapping[str, str], body: bytes, cookies: Iterable[str] = ()) -> ClassicResponse:
    text = str(status)
    if not (text.isascii() and text.isdigit() and 100 <= int(text) <= 999):
        raise UnsendableError(f"the status {status!r} is none of HTTP.")
    for name, value in headers.items():
        if not (name + value).isascii() or "\r" in value or "\n" in value:
            raise UnsendableError(f"the header '{name}' holds characters that HTTP does not allow.")
    if headers.get("content-length", str(len(body))) != str(len(body)):
        raise UnsendableError(f"its Content-Length is {headers['content-length']}, its body has {len(body)} bytes.")
    kept = [pair for pair in headers.items() if pair[0] != "content-length"]
    kept += [("set-cookie", cookie) for cookie in cookies]
    return ClassicResponse(int(text), tuple(kept), b"" if int(text) in _BODILESS else body)


def _cookies(cookies: Iterable[SimpleCookie]) -> Iterable[str]:
    """Return the cookies as the host rewrites them: its own order of attributes, always with a domain."""
    return [_cookie(morsel) for cookie in cookies for morsel in cookie.values()]


def _cookie(morsel: Morsel[str]) -> str:
    parts = [f"{morsel.key}={morsel.coded_value}"]
    if morsel["expires"]:
        parts.append(f"expires={morsel['expires']}")
    if morsel["max-age"]:
        parts.append(f"max-age={morsel['max-age']}")
    parts += [f"domain={morsel['domain']}", f"path={morsel['path'] or '/'}"]
    if morsel["secure"]:
        parts.append("secure")
    if morsel["samesite"]:
        parts.append(f"samesite={morsel['samesite'].lower()}")
    if morsel["httponly"]:
        parts.append("httponly")
    return "; ".join(parts)


def _from_text(text: str) -> ClassicResponse:
    """Return the response for a returned text, which the host tries to read as JSON, even as an envelope."""
    try:
        value = json.loads(text)
    except ValueError:
        return ClassicResponse(200, (("content-type", TEXT),), text.encode())
    if isinstance(value, dict) and "body" in value:
        return _from_envelope(value)
    return ClassicResponse(200, (("content-type", TEXT),), _rewritten(value, indent=2).encode())


def _from_envelope(envelope: Mapping[str, object]) -> ClassicResponse:
    given = envelope.get("headers")
    headers = {str(name).lower(): str(value) for name, value in given.items()} if isinstance(given, dict) else {}
    if "charset" not in headers.setdefault("content-type", TEXT):
        headers["content-type"] += "; charset=utf-8"
    status = envelope.get("statusCode", envelope.get("status", 200))
    return _checked(status, headers, _rewritten(envelope["body"], indent=None).encode())


def _rewritten(value: object, indent: int | None) -> str:
    if isinstance(value, str):
        return value
    separators = (",", ": ") if indent else (",", ":")
    return json.dumps(value, indent=indent, separators=separators, ensure_ascii=False)
