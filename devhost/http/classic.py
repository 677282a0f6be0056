"""Functions on `azure.functions.HttpRequest` and `HttpResponse`."""

from __future__ import annotations

import json
import logging
import uuid
from collections.abc import Iterable, Mapping
from http.cookies import Morsel
from urllib.parse import unquote_plus

from azure.functions.http import HttpRequest
from azure.functions.meta import Datum
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import Receive, Scope, Send

from devhost.converters import encode_result
from devhost.http.routes import Match, clean_path
from devhost.index import Function
from devhost.invoke import Invoker
from devhost.ports import FunctionFailedError

logger = logging.getLogger(__name__)
_TEXT = "text/plain; charset=utf-8"
_BODILESS = frozenset({204, 304})


async def answer_request(match: Match, invoker: Invoker, scope: Scope, receive: Receive, send: Send) -> None:
    """Run the function and send its response; whatever it does wrong is answered with an empty 500."""
    request = await _read_request(match, scope, receive)
    try:
        result = await invoker.call(match.function, request, str(uuid.uuid4()), _members(request))
        response = _to_response(match.function, result)
    except FunctionFailedError:
        response = Response(status_code=500)
    except UnsendableError as error:
        logger.error("Function '%s' returned a response that cannot be sent: %s", match.function.name, error)
        response = Response(status_code=500)
    await response(scope, receive, send)


def _to_response(function: Function, result: object) -> Response:
    if function.output is None:
        return Response()
    try:
        return _response_of(encode_result(function.output, result))
    except FunctionFailedError as error:
        logger.error("Function '%s' failed: %s", function.name, error.message)
        raise


def _members(request: HttpRequest) -> Mapping[str, Datum]:
    """Return what paths of blobs and queues are filled in by: the query's parameters, and the route's before them."""
    return {name: Datum(value, "string") for name, value in {**request.params, **request.route_params}.items()}


async def _read_request(match: Match, scope: Scope, receive: Receive) -> HttpRequest:
    """Return the request as the worker builds it; a chunked body is read and reaches the function empty (1.6)."""
    request = Request(scope, receive)
    is_chunked = "transfer-encoding" in request.headers
    if is_chunked:
        async for _ in request.stream():
            pass
    return HttpRequest(
        method=scope["method"],
        url=_url(request),
        headers=_merge_headers(request.headers),
        params=_query(scope["query_string"]),
        route_params=match.values,
        body_type="bytes",
        body=b"" if is_chunked else await request.body(),
    )


def _url(request: Request) -> str:
    """Return the address as received; Starlette's own would decode it."""
    query = request.scope["query_string"].decode("latin-1")
    url = f"{request.scope['scheme']}://{request.headers.get('host', '')}{clean_path(request.scope['raw_path'])}"
    return f"{url}?{query}" if query else url


def _merge_headers(headers: Headers) -> Mapping[str, str]:
    merged: dict[str, str] = {}
    for name, value in headers.items():
        merged[name] = f"{merged[name]},{value}" if name in merged else value
    return merged


def _query(raw: bytes) -> Mapping[str, str]:
    """Return the parameters: several values joined with commas, names merged without case, empty values left out."""
    values: dict[str, str] = {}
    spelled: dict[str, str] = {}
    for pair in raw.decode("latin-1").split("&"):
        name, _, value = (_decode(part) for part in pair.partition("="))
        if not value:
            continue
        name = spelled.setdefault(name.lower(), name)
        values[name] = f"{values[name]},{value}" if name in values else value
    return values


def _decode(text: str) -> str:
    try:
        return unquote_plus(text, errors="strict")
    except UnicodeDecodeError:
        return text


class UnsendableError(Exception):
    """The function's response is none that HTTP can carry."""


def _response_of(datum: Datum) -> Response:
    """Return the response that the converter's datum means; raise `UnsendableError` for bad statuses and headers."""
    if datum.type == "string":
        return _from_text(datum.value)
    parts = datum.value
    headers = {name.lower(): value.value for name, value in parts["headers"].items()}
    body: bytes = parts["body"].value
    cookies = [_cookie(morsel) for cookie in parts["cookies"] or () for morsel in cookie.values()]
    return _checked(parts["status_code"].value, headers, body, cookies)


def _checked(status: object, headers: Mapping[str, str], body: bytes, cookies: Iterable[str] = ()) -> Response:
    text = str(status)
    if not (text.isascii() and text.isdigit() and 100 <= int(text) <= 999):
        raise UnsendableError(f"the status {status!r} is none of HTTP.")
    for name, value in headers.items():
        if not (name + value).isascii() or "\r" in value or "\n" in value:
            raise UnsendableError(f"the header '{name}' holds characters that HTTP does not allow.")
    if headers.get("content-length", str(len(body))) != str(len(body)):
        raise UnsendableError(f"its Content-Length is {headers['content-length']}, its body has {len(body)} bytes.")
    # These headers, some of them twice, and the length: no other.
    pairs = [pair for pair in headers.items() if pair[0] != "content-length"]
    pairs += [("set-cookie", cookie) for cookie in cookies]
    sent = b"" if int(text) in _BODILESS else body
    response = Response(sent, int(text))
    pairs.append(("content-length", str(len(sent))))
    response.raw_headers = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in pairs]
    return response


def _cookie(morsel: Morsel[str]) -> str:
    """Return the cookie as the host rewrites it: its own order of attributes, always with a domain."""
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


def _from_text(text: str) -> Response:
    """Return the response for a returned text, which the host tries to read as JSON, even as an envelope."""
    try:
        value = json.loads(text)
    except ValueError:
        return PlainTextResponse(text)
    if isinstance(value, dict) and "body" in value:
        return _from_envelope(value)
    return PlainTextResponse(_rewritten(value, indent=2))


def _from_envelope(envelope: Mapping[str, object]) -> Response:
    given = envelope.get("headers")
    headers = {str(name).lower(): str(value) for name, value in given.items()} if isinstance(given, dict) else {}
    if "charset" not in headers.setdefault("content-type", _TEXT):
        headers["content-type"] += "; charset=utf-8"
    status = envelope.get("statusCode", envelope.get("status", 200))
    return _checked(status, headers, _rewritten(envelope["body"], indent=None).encode())


def _rewritten(value: object, indent: int | None) -> str:
    if isinstance(value, str):
        return value
    separators = (",", ": ") if indent else (",", ":")
    return json.dumps(value, indent=indent, separators=separators, ensure_ascii=False)
