"""What was measured at a running host, beside what the product promises there."""

from dataclasses import dataclass
from pathlib import Path

from benchmarks.bars import AtLeast, AtMost, Bar
from tests.support.storage_calls import NotCounted


@dataclass(frozen=True)
class Figure:
    """One measured value, or why there is none; the bars are those of the real host on Azurite and two cores."""

    name: str
    value: float | NotCounted
    unit: str
    bar: Bar

    @property
    def text(self) -> str:
        if isinstance(self.value, NotCounted):
            return f"not counted: {self.value.why}"
        return f"{self.value:.3g} {self.unit}"

    @property
    def is_reached(self) -> bool:
        return not isinstance(self.value, NotCounted) and self.bar.is_reached(self.value)


BARS: dict[str, tuple[str, Bar]] = {
    "fresh turn, p50": ("ms", AtMost(40)),
    "fresh turn, p99": ("ms", AtMost(120)),
    "16 clients": ("turns/s", AtLeast(70)),
    "storage calls of a turn": ("calls", AtMost(12)),
    "storage calls of a turn of 2 s": ("calls", AtMost(16)),
    "first word": ("ms", AtMost(40)),
    "longest wait for a word": ("ms", AtMost(220)),
    "200 runs of 2 s": ("s", AtMost(4)),
    "a killed worker's run": ("s", AtMost(5)),
}


def figure(name: str, value: float | NotCounted) -> Figure:
    unit, bar = BARS[name]
    return Figure(name, value, unit, bar)


def table(figures: list[Figure]) -> list[str]:
    """The lines to print."""
    rows = [("figure", "value", "bar", "reached")] + [
        (row.name, row.text, str(row.bar), "yes" if row.is_reached else "NO") for row in figures
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def storage_calls(log: str) -> int:
    return Path(log).read_text(encoding="utf-8", errors="replace").count(' HTTP/1.1" ')
