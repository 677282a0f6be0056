"""The list of known differences in docs/contributing/recorded-exchanges.md, read back from its table."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.support.running_host import ROOT

PAGE = ROOT / "docs" / "contributing" / "recorded-exchanges.md"
HEADING = "# Recorded exchanges that come out differently"
_ROW = re.compile(r"\| (?P<run>[\w. ]+) \| (?P<labels>.*) \| (?P<why>.*) \|")
_LABEL = re.compile(r"`([^`]+)`")


@dataclass(frozen=True)
class Known:
    """One label of one run that may differ, `*` standing for any text; `sometimes` when it need not.

    What the newest host does otherwise, each older one may do too; a run of an older one has its name after it.
    """

    run: str
    label: str
    why: str

    @property
    def sometimes(self) -> bool:
        """Tell whether the difference depends on timing."""
        return self.why.startswith("Timing:")

    def names(self, run: str, label: str) -> bool:
        """Tell whether the entry is about this label of this run."""
        pattern = ".*".join(re.escape(part) for part in self.label.split("*"))
        return self.run in (run, run.partition(" ")[0]) and re.fullmatch(pattern, label, re.DOTALL) is not None


def known_differences(page: Path = PAGE) -> list[Known]:
    """Return the entries of the page's table, one for each label of each row."""
    _, _, rest = page.read_text(encoding="utf-8").partition(HEADING)
    return list(_entries(rest.partition("\n## ")[0].splitlines()))


def _entries(lines: list[str]) -> Iterator[Known]:
    for line in lines:
        row = _ROW.fullmatch(line)
        if row:
            yield from (Known(row["run"], label, row["why"]) for label in _LABEL.findall(row["labels"]))
