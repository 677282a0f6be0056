"""The table that is printed: one line for each figure, its bar and the host's empty route beside it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from benchmarks.bars import BARS
from benchmarks.figures import Figure, Result

COLUMNS = ("measure", "figure", "value", "bar", "reached", "empty route p50")
RIGHT_ALIGNED = frozenset({"value", "empty route p50"})


def render(results: Mapping[str, Result]) -> str:
    """The results by measure as a Markdown table that reads as well in a terminal."""
    rows = [row(measure, figure, result) for measure, result in results.items() for figure in result.figures]
    widths = [max(map(len, column)) for column in zip(COLUMNS, *rows, strict=True)]
    rule = [("-" * (width - 1) + ":") if name in RIGHT_ALIGNED else "-" * width for name, width in aligned(widths)]
    return "\n".join(line(cells, widths) for cells in (COLUMNS, rule, *rows))


def row(measure: str, figure: Figure, result: Result) -> tuple[str, ...]:
    """The cells of one figure."""
    bar = BARS.get((measure, figure.name))
    reached = "" if bar is None else ("yes" if bar.is_reached(figure.value) else "NO")
    empty = "" if result.empty_route_seconds is None else f"{result.empty_route_seconds * 1000:.2f} ms"
    return measure, figure.name, with_unit(number(figure.value), figure.unit), output(bar, figure.unit), reached, empty


def output(bar: object, unit: str) -> str:
    return "" if bar is None else with_unit(str(bar), unit)


def with_unit(text: str, unit: str) -> str:
    return f"{text} {unit}".rstrip()


def number(value: float) -> str:
    """Three digits that mean something; whole numbers as they are."""
    if value == int(value) or abs(value) >= 100:
        return f"{value:.0f}"
    return f"{value:.2f}" if abs(value) < 10 else f"{value:.1f}"


def aligned(widths: Sequence[int]) -> Iterable[tuple[str, int]]:
    return zip(COLUMNS, widths, strict=True)


def line(cells: Sequence[str], widths: Sequence[int]) -> str:
    padded = [
        cell.rjust(width) if name in RIGHT_ALIGNED else cell.ljust(width)
        for cell, (name, width) in zip(cells, aligned(widths), strict=True)
    ]
    return f"| {' | '.join(padded)} |"
