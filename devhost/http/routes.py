"""Which function answers a request: the first, by upper-cased name, whose template and verb match (2.1)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from devhost.bindings import HttpTrigger
from devhost.errors import FunctionLoadError, RouteError
from devhost.http.paths import decode_path
from devhost.http.templates import Template, compile_template
from devhost.index import Function, FunctionIndex


@dataclass(frozen=True)
class Route:
    """One function under its compiled template; `methods` None answers any verb."""

    function: Function
    template: Template
    methods: frozenset[str] | None


@dataclass(frozen=True)
class Match:
    """The function that answers, and the values of its route's parameters."""

    function: Function
    values: Mapping[str, str]


class RouteTable:
    """All HTTP functions in the order in which they are tried."""

    def __init__(self, routes: Iterable[Route]) -> None:
        self.routes = tuple(routes)

    def match(self, method: str, path: str) -> Match | None:
        """Return the match for a verb and a percent-encoded path, None where the real host answers 404."""
        if "//" in path:
            return None
        decoded = decode_path(path).strip("/")
        for route in self.routes:
            if route.methods is None or method in route.methods:
                values = route.template.match(decoded)
                if values is not None:
                    return Match(route.function, values)
        return None


def build_routes(index: FunctionIndex, prefix: str) -> RouteTable:
    """Return the route table of the functions that run; raise `FunctionLoadError` for an unreadable template."""
    return RouteTable(
        _route(function, function.trigger, prefix)
        for function in index.running()
        if isinstance(function.trigger, HttpTrigger)
    )


def _route(function: Function, trigger: HttpTrigger, prefix: str) -> Route:
    try:
        template = compile_template(full_route(trigger, prefix))
    except RouteError as error:
        raise FunctionLoadError(function.name, str(error)) from error
    return Route(function, template, trigger.methods)


def full_route(trigger: HttpTrigger, prefix: str) -> str:
    """Return the template with the app's prefix, without slashes at its ends."""
    return f"{prefix}/{trigger.route}".strip("/")
