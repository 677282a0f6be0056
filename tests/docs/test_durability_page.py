"""why-it-is-safe.md and crash-points.md: each row of their tables links a test that shows a promise of the manifest."""

from __future__ import annotations

import re

import pytest

from tests.support.page_tables import rows
from tests.support.pages import ROOT, page
from tests.support.shown_rules import promised_rules

PROMISED = {rule for area in promised_rules().values() for rule in area}


@pytest.mark.behaviour("docs.durability")
@pytest.mark.parametrize(
    ("name", "heading"),
    [("docs/explanation/why-it-is-safe.md", "killed"), ("docs/contributing/crash-points.md", "killed, lost or paused")],
)
def test_each_row_links_a_test_of_a_promise(name: str, heading: str) -> None:
    table = rows(page(name), heading)
    linked = {row[0]: re.findall(r"\]\(\.\./\.\./([^)]+)\)", row[-1]) for row in table}

    assert len(linked) > 10
    for killed, (path,) in linked.items():
        shown = re.findall(r'behaviour\("([\w.-]+)"', (ROOT / path).read_text(encoding="utf-8"))
        assert PROMISED.intersection(shown), killed
