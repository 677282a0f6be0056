"""benchmarks.md says what is measured and what must be reached, and shows a table as it was printed."""

import re
from pathlib import Path

import pytest

from benchmarks.bars import BARS
from benchmarks.catalogue import MEASURES

PAGE = (Path(__file__).parents[2] / "docs" / "contributing" / "benchmarks.md").read_text(encoding="utf-8")


@pytest.mark.behaviour("benchmarks.documented")
def test_the_page_describes_every_measure_and_no_other() -> None:
    assert re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE) == list(MEASURES)


@pytest.mark.behaviour("benchmarks.documented")
@pytest.mark.parametrize(("measure", "figure"), sorted(BARS))
def test_the_page_shows_every_bar_beside_a_figure_that_was_measured(measure: str, figure: str) -> None:
    """In the printed tables, which the page shows as they came."""
    rows = [[cell.strip() for cell in line.strip("| \n").split(" | ")] for line in PAGE.splitlines()]
    shown = [row[3] for row in rows if row[:2] == [measure, figure]]

    assert shown
    assert all(bar.startswith(str(BARS[measure, figure])) for bar in shown)
