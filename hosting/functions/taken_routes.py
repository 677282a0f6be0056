"""Routes of the user's own functions beside ours: which of them could not both be served.

The host tries its functions in the order of their upper-cased names, and the first whose route and verb match answers.
So of two that meet, one answers in place of the other without a word, and which one depends on their names.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hosting.errors import ConfigurationError


@dataclass(frozen=True)
class _Taken:
    """A function's verbs and the parts of its route; a parameter is None, and one for all that follows is `...`."""

    name: str
    place: str
    route: str
    methods: frozenset[str]
    parts: tuple[Any, ...]

    def meets(self, other: _Taken) -> bool:
        """Tell whether a request can be for both."""
        either_takes_any = not self.methods or not other.methods
        return (either_takes_any or bool(self.methods & other.methods)) and _meet(self.parts, other.parts)

    def covers(self, other: _Taken) -> bool:
        """Tell whether nothing is left for the other, part by part."""
        same_length = len(self.parts) == len(other.parts)
        return same_length and all(
            own is None or own == part for own, part in zip(self.parts, other.parts, strict=True)
        )


def refuse_taken_routes(functions: Iterable[Any], ours: Collection[str]) -> None:
    """Raise `ConfigurationError` for a function of the user's that takes requests of ours, or would get none.

    `ours` has the names of the library's own functions. A route that only gets what ours leave is the user's choice.
    """
    found = (_taken(function) for function in functions)
    taken = sorted((each for each in found if each is not None), key=lambda each: each.name.upper())
    for mine in (each for each in taken if each.name in ours):
        for theirs in (each for each in taken if each.name not in ours):
            comes_first = theirs.name.upper() < mine.name.upper()
            if theirs.meets(mine) and (comes_first or mine.covers(theirs)):
                raise ConfigurationError(
                    f"The route {theirs.route!r} of your function {theirs.name!r} ({theirs.place}) meets "
                    f"{mine.route!r} of this library's function {mine.name!r}: only one of them would answer. Give "
                    "yours another route."
                )


def _taken(function: Any) -> _Taken | None:
    bindings = (json.loads(raw) for raw in function.get_raw_bindings())
    trigger = next((binding for binding in bindings if binding["type"] == "httpTrigger"), None)
    if trigger is None:
        return None
    name = function.get_function_name()
    route = (trigger.get("route") or name).strip("/")
    methods = frozenset(method.upper() for method in trigger.get("methods") or ())
    code = inspect.unwrap(function.get_user_function()).__code__
    place = f"{Path(code.co_filename).name}, line {code.co_firstlineno}"
    return _Taken(name, place, route, methods, tuple(_part(text) for text in route.split("/")))


def _part(text: str) -> Any:
    if text.startswith("{*"):
        return ...
    return None if "{" in text else text.lower()


def _meet(one: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
    for own, part in zip(one, other, strict=False):
        if own is ... or part is ...:
            return True
        if own is not None and part is not None and own != part:
            return False
    return len(one) == len(other) or ... in (*one, *other)
