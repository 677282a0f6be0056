"""The tables of what official clients can use, in docs/reference: each row is a feature of a client, and its state."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
REFERENCE = ROOT / "docs" / "reference"
HEADING = "## What official clients can use"
COLUMNS = ["feature of the client", "here", "how it is tried, or why not"]
WORKS, BY_DESIGN, MISSING = "works", "by design not", "missing"
_FIGURE = re.compile(r"^(\d+) of (\d+) that apply to a hosted agent work\.", re.MULTILINE)


@dataclass(frozen=True)
class Row:
    """A feature by its words, its state, and the tests that try it, or why there are none."""

    feature: str
    here: str
    how: str

    @property
    def names(self) -> list[str]:
        """What of the client the row is about: the names in backquotes."""
        return re.findall(r"`([^`]+)`", self.feature)

    @property
    def tests(self) -> list[str]:
        """The tests that the row names."""
        return re.findall(r"`(tests/[^`]+)`", self.how)


@dataclass(frozen=True)
class ClientTable:
    """The table of a client, and the two numbers of the line below it: what works, of how many."""

    client: str
    columns: Sequence[str]
    rows: Sequence[Row]
    figure: tuple[int, int] | None

    def counted(self) -> tuple[int, int]:
        """Return how many features work, and how many apply to a hosted agent."""
        applying = [row for row in self.rows if row.here != BY_DESIGN]
        return sum(row.here == WORKS for row in applying), len(applying)

    def unnamed(self, names: Iterable[str]) -> list[str]:
        """Return those of the client's names that no row has."""
        return sorted(set(names) - {name for row in self.rows for name in row.names})


def pages() -> list[Path]:
    return [page for page in sorted(REFERENCE.glob("*.md")) if HEADING in page.read_text(encoding="utf-8")]


def tables_of(page: Path) -> list[ClientTable]:
    _, _, section = page.read_text(encoding="utf-8").partition(f"{HEADING}\n")
    section = section.partition("\n## ")[0]
    return [_table(part) for part in section.split("\n### ")[1:]]


def table_of(page: str, client: str) -> ClientTable:
    """Return the table under the heading of a client."""
    (table,) = [table for table in tables_of(REFERENCE / page) if table.client == client]
    return table


def _table(section: str) -> ClientTable:
    lines = [line for line in section.splitlines() if line.startswith("|")]
    columns, _, *rows = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]
    figure = _FIGURE.search(section)
    return ClientTable(
        section.splitlines()[0].strip().replace("`", ""),
        columns,
        [Row(*cells) for cells in rows],
        figure and (int(figure[1]), int(figure[2])),
    )


def is_test(name: str) -> bool:
    """Tell whether pytest collects the function under this name: `tests/.../test_x.py::test_name`."""
    path, _, function = name.partition("::")
    file = ROOT / path
    if not (file.is_file() and file.name.startswith("test_") and function.startswith("test_")):
        return False
    return function in _functions(file)


@cache
def _functions(file: Path) -> set[str]:
    return set(re.findall(r"^(?:async )?def (test_\w+)", file.read_text(encoding="utf-8"), re.MULTILINE))
