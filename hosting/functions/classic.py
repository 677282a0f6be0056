"""The user's own classic routes (`func.HttpRequest` in, `func.HttpResponse` out) beside ours.

An app that imports the FastAPI extension, as this library does, gets FastAPI requests for each HTTP trigger it has
(the worker decides per app, not per function). So a handler that was written for the classic types is wrapped: it gets
the request it expects, and its answer is turned into the one that the worker expects.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
import json
from collections.abc import Callable
from typing import Any, get_type_hints

import azure.functions as func
from azurefunctions.extensions.http.fastapi import Request, Response

from hosting.process.invocation import begin_invocation, carried


def adapt_classic_handler(function: Any) -> None:
    """Wrap the handler of one indexed function, if it is an HTTP trigger for the classic types.

    A request parameter without annotation is classic too, as it is in an app without the extension.
    """
    name = _request_parameter(function)
    handler = function.get_user_function()
    if name is None or not _takes_classic_request(handler, name):
        return
    # The SDK gives a built function no way to exchange its handler; its own decorators assign this attribute as well.
    function._func = _adapted(handler, name)


def _request_parameter(function: Any) -> str | None:
    bindings = (json.loads(raw) for raw in function.get_raw_bindings())
    return next((binding["name"] for binding in bindings if binding["type"] == "httpTrigger"), None)


def _takes_classic_request(handler: Callable[..., Any], name: str) -> bool:
    annotation = get_type_hints(handler).get(name, func.HttpRequest)
    return inspect.isclass(annotation) and issubclass(annotation, func.HttpRequest)


def _adapted(handler: Callable[..., Any], name: str) -> Callable[..., Any]:
    is_async = inspect.iscoroutinefunction(handler)
    takes_context = is_async or "context" in inspect.signature(handler).parameters

    @functools.wraps(handler)
    async def adapted(**arguments: Any) -> Response:
        arguments[name] = await classic_request(arguments[name])
        if is_async:
            return fastapi_response(await handler(**arguments))
        begin_invocation(arguments.get("context") if takes_context else arguments.pop("context", None))
        return fastapi_response(await asyncio.to_thread(carried(handler), **arguments))

    adapted.__annotations__ = {**handler.__annotations__, name: Request, "return": Response}
    if not takes_context:
        # The worker gives the invocation to a parameter of this name; what the handler's thread logs needs it.
        context = inspect.Parameter("context", inspect.Parameter.KEYWORD_ONLY)
        signature = inspect.signature(handler)
        adapted.__signature__ = signature.replace(parameters=[*signature.parameters.values(), context])  # type: ignore[attr-defined]
    return adapted


async def classic_request(request: Request) -> func.HttpRequest:
    """Return the classic request for a FastAPI one: the caller's URL, repeated names joined by commas, the body."""
    return func.HttpRequest(
        method=request.method,
        url=_caller_url(request),
        headers={key: ",".join(request.headers.getlist(key)) for key in request.headers},
        params={key: ",".join(request.query_params.getlist(key)) for key in request.query_params},
        route_params=dict(request.path_params),
        body=await request.body(),
    )


def fastapi_response(answer: object) -> Response:
    """Return the FastAPI response for a classic handler's answer; raises `TypeError` for what it may not return."""
    if isinstance(answer, str):
        return Response(answer, media_type="text/plain")
    if not isinstance(answer, func.HttpResponse):
        raise TypeError(f"An HTTP function returned {type(answer).__name__}; return func.HttpResponse or str.")
    response = Response(answer.get_body(), answer.status_code)
    for key, value in answer.headers.items():
        response.headers[key] = value
    response.headers.setdefault("content-type", _content_type(answer))
    return response


def _content_type(answer: func.HttpResponse) -> str:
    is_text = answer.mimetype.startswith("text/")
    return f"{answer.mimetype}; charset={answer.charset}" if is_text else str(answer.mimetype)


def _caller_url(request: Request) -> str:
    url = request.url
    host = request.headers.get("x-forwarded-host")
    proto = request.headers.get("x-forwarded-proto", url.scheme)
    return str(url.replace(scheme=proto, netloc=host) if host else url)
