"""What a measure gives back: figures, each with its unit, beside the host's empty route."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeAlias

from benchmarks.sizes import Sizes


@dataclass(frozen=True)
class Figure:
    """One measured value, in `unit`; a value without a unit is a count or a ratio."""

    name: str
    value: float
    unit: str = ""


@dataclass(frozen=True)
class Result:
    """The figures of one measure, and the p50 of the empty route on the host that gave them (None: it has none)."""

    figures: tuple[Figure, ...]
    empty_route_seconds: float | None = None


Measure: TypeAlias = Callable[[Sizes], Awaitable[Result]]


class NotMeasuredError(Exception):
    """The figures could not be had here; the message says why."""


def milliseconds(name: str, seconds: float) -> Figure:
    return Figure(name, seconds * 1000, "ms")
