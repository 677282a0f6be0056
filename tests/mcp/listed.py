"""The two lists of docs/contributing/test-kits.md: what of a foreign tool does not apply to this server, and why."""

from __future__ import annotations

import re

from tests.support.pages import page, part

_ROW = re.compile(r"^\| (?P<names>`.*`) \| (?P<why>.+) \|$", re.MULTILINE)


def not_applicable(heading: str) -> dict[str, str]:
    """Return name and reason of each entry in the table under the heading."""
    table = part(page("docs/contributing/test-kits.md"), f"### {heading}")
    return {name: row["why"] for row in _ROW.finditer(table) for name in re.findall(r"`([^`]+)`", row["names"])}
