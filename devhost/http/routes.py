"""Which function answers a request: the first, by upper-cased name, whose template and verb match (2.1).

Paths are read as the real host reads them before routing. Starlette's router is not used for functions: ASP.NET's
templates, their constraints and percent-codes, and a 404 for a wrong verb are other rules than its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from urllib.parse import unquote

from devhost.bindings import HttpTrigger
from devhost.errors import FunctionLoadError, RouteError
from devhost.http.templates import Template, compile_template
from devhost.index import Function, FunctionIndex

_ENCODED_SLASH = re.compile(r"%2f", re.IGNORECASE)
_ENCODED_DOT = re.compile(r"%2e", re.IGNORECASE)
_CONSTRAINTS = re.compile(r"\{(\*{0,2}[^:=?{}]+)(?::(?:\{\{|\}\}|[^{}])*?)?(=[^{}?]*)?(\??)\}")


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
        decoded = decode_path(path).lstrip("/")
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


def displayed_route(trigger: HttpTrigger, prefix: str) -> str:
    """Return the full route without its constraints: `api/items/{id?}` for `items/{id:int?}`."""
    return _CONSTRAINTS.sub(r"{\1\2\3}", full_route(trigger, prefix))


class BadPathError(Exception):
    """The path holds a NUL or characters that must be percent-encoded: 400 on the real host."""


def clean_path(raw_path: bytes) -> str:
    """Return the path as received, but with `.` and `..` segments resolved; it still holds its percent-codes."""
    if not raw_path.isascii() or b"%00" in raw_path:
        raise BadPathError
    path = raw_path.decode("ascii")
    return _without_dots(path) if "/." in path or "/%2" in path else path


def _without_dots(path: str) -> str:
    kept: list[str] = []
    for segment in path.split("/")[1:]:
        plain = _ENCODED_DOT.sub(".", segment)
        if plain == "..":
            del kept[-1:]
        elif plain != ".":
            kept.append(segment)
    return "/" + "/".join(kept)


def decode_path(path: str) -> str:
    """Return the percent-decoded path; encoded slashes and codes that are no UTF-8 stay as they were sent."""
    if "%" not in path:
        return path
    try:
        return unquote(_ENCODED_SLASH.sub(lambda found: "%25" + found[0][1:], path), errors="strict")
    except UnicodeDecodeError:
        return path
