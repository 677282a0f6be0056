"""The two lists of docs/mcp.md: what of a foreign tool does not apply to this server, and why."""

from __future__ import annotations

import re

from tests.support.running_host import ROOT

PAGE = ROOT / "docs" / "mcp.md"
_ROW = re.compile(r"^\| (?P<names>`.*`) \| (?P<why>.+) \|$", re.MULTILINE)


def not_applicable(heading: str) -> dict[str, str]:
    """Return name and reason of each entry in the table under the heading."""
    _, _, rest = PAGE.read_text(encoding="utf-8").partition(f"## {heading}\n")
    table = rest.partition("\n## ")[0]
    return {name: row["why"] for row in _ROW.finditer(table) for name in re.findall(r"`([^`]+)`", row["names"])}
