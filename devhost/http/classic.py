"""Functions on `azure.functions.HttpRequest` and `HttpResponse` (host contract 1.6 and 2.3)."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Mapping
from urllib.parse import unquote_plus

from azure.functions.http import HttpRequest
from starlette.requests import Request

from devhost.converters import encode_result
from devhost.http.asgi import Receive, Scope, Send, answer, header
from devhost.http.classic_response import ClassicResponse, UnsendableError, response_of
from devhost.http.paths import clean_path
from devhost.http.routes import Match
from devhost.index import Function
from devhost.invoke import Invoker
from devhost.ports import FunctionFailedError

logger = logging.getLogger(__name__)


async def answer_request(match: Match, invoker: Invoker, scope: Scope, receive: Receive, send: Send) -> None:
    """Run the function and send its response; whatever it does wrong is answered with an empty 500."""
    request = await _read_request(match, scope, receive)
    try:
        result = await invoker.call(match.function, request, str(uuid.uuid4()))
        response = _to_response(match.function, result)
    except FunctionFailedError:
        await answer(send, 500)
        return
    except UnsendableError as error:
        logger.error("Function '%s' answered what cannot be sent: %s", match.function.name, error)
        await answer(send, 500)
        return
    await answer(send, response.status, response.body, headers=response.headers)


def _to_response(function: Function, result: object) -> ClassicResponse:
    if function.output is None:
        return ClassicResponse(200, (), b"")
    try:
        return response_of(encode_result(function.output, result))
    except FunctionFailedError as error:
        logger.error("Function '%s' failed: %s", function.name, error.message)
        raise


async def _read_request(match: Match, scope: Scope, receive: Receive) -> HttpRequest:
    """Return the request as the worker builds it; a chunked body is read and reaches the function empty (1.6)."""
    request = Request(scope, receive)
    is_chunked = "transfer-encoding" in request.headers
    if is_chunked:
        async for _ in request.stream():
            pass
    return HttpRequest(
        method=scope["method"],
        url=_url(scope),
        headers=_merge_headers(scope),
        params=_query(scope["query_string"]),
        route_params=match.values,
        body_type="bytes",
        body=b"" if is_chunked else await request.body(),
    )


def _url(scope: Scope) -> str:
    query = scope["query_string"].decode("latin-1")
    url = f"{scope['scheme']}://{header(scope, b'host')}{clean_path(scope['raw_path'])}"
    return f"{url}?{query}" if query else url


def _merge_headers(scope: Scope) -> Mapping[str, str]:
    merged: dict[str, str] = {}
    for raw_name, raw_value in scope["headers"]:
        name, value = raw_name.decode("latin-1"), raw_value.decode("latin-1")
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
