"""The user's own routes next to ours: handlers of the classic types adapted, routes that meet ours refused.

An app that imports the FastAPI extension, as this library does, gets FastAPI requests for each of its HTTP triggers:
the worker decides per app, not per function. So a handler that takes `func.HttpRequest` and returns `func.HttpResponse`
is wrapped, and its request and response are converted.

The host tries functions in the order of their upper-cased names, and the first whose route and verb match answers. So
of two that meet, one silently answers in place of the other, and which one depends on their names.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, get_type_hints

import azure.functions as func
from azurefunctions.extensions.http.fastapi import Request, Response
from msgspec import Struct

from hosting.errors import ConfigurationError
from hosting.functions.answering import Served
from hosting.functions.app_triggers import UNKNOWN_FUNCTIONS
from hosting.http.page import FUNCTION as PAGE_FUNCTION
from hosting.http.request import joined
from hosting.invocation import begin_invocation, carried


def own_functions(served: Served, *, has_page: bool) -> set[str]:
    """Return the functions of ours that answer requests, and the clocks, if there are any.

    A user's function may have the name of one that the app does not have.
    """
    page = (PAGE_FUNCTION,) if has_page else ()
    routes = (route.function for route in served.routes)
    wires = (wire.function for wire in served.wires.values())
    return {*routes, *wires, *UNKNOWN_FUNCTIONS.values(), *page, *served.functions}


def adapt_classic_handler(function: Any) -> None:
    """Wrap the handler of one indexed function, if it is an HTTP trigger for the classic types.

    A request parameter without annotation is classic too, as it is in an app without the extension.
    """
    trigger, handler = _http_trigger(function), function.get_user_function()
    if trigger is None:
        return
    annotation = get_type_hints(handler).get(trigger["name"], func.HttpRequest)
    if not (inspect.isclass(annotation) and issubclass(annotation, func.HttpRequest)):
        return
    exchange_handler(function, _adapted(handler, trigger["name"]))


def exchange_handler(function: Any, handler: Callable[..., Any]) -> None:
    """Give an indexed function another handler, with the parameters of its own."""
    # The SDK gives a built function no way to exchange its handler; its own decorators assign this attribute as well.
    function._func = handler


def _http_trigger(function: Any) -> dict[str, Any] | None:
    bindings = (json.loads(raw) for raw in function.get_raw_bindings())
    return next((binding for binding in bindings if binding["type"] == "httpTrigger"), None)


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
    proto = request.headers.get("x-forwarded-proto", request.url.scheme)
    host = request.headers.get("x-forwarded-host")
    return func.HttpRequest(
        method=request.method,
        url=str(request.url.replace(scheme=proto, netloc=host) if host else request.url),
        headers=joined(request.headers.items()),
        params=joined(request.query_params.multi_items()),
        route_params=dict(request.path_params),
        body=await request.body(),
    )


def fastapi_response(answer: object) -> Response:
    """Return the FastAPI response for a classic handler's answer; raises `TypeError` for another type."""
    if isinstance(answer, str):
        return Response(answer, media_type="text/plain")
    if not isinstance(answer, func.HttpResponse):
        raise TypeError(f"An HTTP function returned {type(answer).__name__}; return func.HttpResponse or str.")
    response = Response(answer.get_body(), answer.status_code)
    for key, value in answer.headers.items():
        response.headers[key] = value
    charset = f"; charset={answer.charset}" if answer.mimetype.startswith("text/") else ""
    response.headers.setdefault("content-type", f"{answer.mimetype}{charset}")
    return response


class _IndexedRoute(Struct, frozen=True):
    """A function's verbs and the parts of its route; a parameter is None, and one for all that follows is `...`."""

    name: str
    defined_at: str
    route: str
    methods: frozenset[str]
    parts: tuple[Any, ...]

    def meets(self, other: _IndexedRoute) -> bool:
        """Whether a request can be for both."""
        if self.methods and other.methods and not self.methods & other.methods:
            return False
        for own, part in zip(self.parts, other.parts, strict=False):
            if own is ... or part is ...:
                return True
            if own is not None and part is not None and own != part:
                return False
        return len(self.parts) == len(other.parts) or ... in (*self.parts, *other.parts)

    def covers(self, other: _IndexedRoute) -> bool:
        """Whether nothing is left for the other, part by part."""
        same_length = len(self.parts) == len(other.parts)
        return same_length and all(
            own is None or own == part for own, part in zip(self.parts, other.parts, strict=True)
        )


def refuse_taken_names(functions: Iterable[Any]) -> None:
    """Raise `ConfigurationError` for two functions with the same name, ignoring case as hosts do."""
    named = dict[str, Any]()
    for function in functions:
        name = function.get_function_name()
        other = named.setdefault(name.lower(), function)
        if other is not function:
            first, second = (f"{each.get_function_name()!r} ({_defined_at(each)})" for each in (other, function))
            raise ConfigurationError(
                f"Two functions have the same name, ignoring case: {first} and {second}. Rename yours, or set its "
                "name with @app.function_name(...)."
            )


def refuse_taken_routes(ours: Iterable[Any], of_the_user: Iterable[Any]) -> None:
    """Raise `ConfigurationError` for a function `of_the_user` that takes requests of ours, or would get none.

    A route that only gets what ours leave is the user's choice; those of ours that get what all others leave are to be
    the last.
    """
    added = _by_name(of_the_user)
    for mine in _by_name(ours) if added else []:  # an app without routes of its own need not read ours at its start
        for theirs in added:
            comes_first = theirs.name.upper() < mine.name.upper()
            is_last = mine.name in UNKNOWN_FUNCTIONS.values()
            takes = not comes_first if is_last else comes_first or mine.covers(theirs)
            if theirs.meets(mine) and takes:
                raise ConfigurationError(
                    f"The route {theirs.route!r} of your function {theirs.name!r} ({theirs.defined_at}) meets "
                    f"{mine.route!r} of this library's function {mine.name!r}: only one of them would answer. Change "
                    "your route."
                )


def _by_name(functions: Iterable[Any]) -> list[_IndexedRoute]:
    """Return the routes of those that are HTTP triggers, in the order in which a host looks at them."""
    found = (_served(function) for function in functions)
    return sorted((each for each in found if each is not None), key=lambda each: each.name.upper())


def _served(function: Any) -> _IndexedRoute | None:
    trigger = _http_trigger(function)
    if trigger is None:
        return None
    name = function.get_function_name()
    route = (trigger.get("route") or name).strip("/")
    methods = frozenset(method.upper() for method in trigger.get("methods") or ())
    parts = (... if part.startswith("{*") else None if "{" in part else part.lower() for part in route.split("/"))
    return _IndexedRoute(name, _defined_at(function), route, methods, tuple(parts))


def is_this_librarys(handler: Any) -> bool:
    """Return whether a handler, below what wraps it, is ours."""
    return str(_unwrapped(handler).__module__).partition(".")[0] == __name__.partition(".")[0]


def _unwrapped(handler: Any) -> Any:
    for wrapped in ("orchestrator_function", "entity_function"):  # the SDK's name for what it wraps
        handler = getattr(handler, wrapped, handler)
    return inspect.unwrap(handler)


def _defined_at(function: Any) -> str:
    """Return where a function is defined: its file and line, or that it is ours."""
    handler = _unwrapped(function.get_user_function())
    if is_this_librarys(handler):
        return "this library's"
    return f"{Path(handler.__code__.co_filename).name}, line {handler.__code__.co_firstlineno}"
