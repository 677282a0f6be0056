"""The README's comparison, computed from what the pack found, and the sums of docs/guides/conformance.md."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import pytest

from conformance.__main__ import ALL_CHECKS
from tests.conformance.kept import FOUNDRY, LANGGRAPH, OURS, UPSTREAM
from tests.support.pages import page, part

SERVICES = (OURS, UPSTREAM, FOUNDRY, LANGGRAPH)
SUBJECTS = {
    "A request sent again is one run": "key",
    "A broken stream resumes": "stream",
    "Runs of a thread keep their order, at any process": "order beside",
    "A run can be cancelled": "cancel",
    "Approvals and questions are answered once": "approval ask",
    "A message joins the run at work once": "steer",
    "Tools and tokens of a caller are used once, and not kept": "client-tool user-token",
    "A long run has one answer, says how far it is, and can be paused": "long pause",
    "A deleted thread stays deleted": "delete",
    "Other owners cannot read or change a thread": "owners",
    "Work survives `kill -9`": "kill",
    "Stored state has a version": "state",
}
TABLE = part(page("README.md"), "## Features")
ROWS = {
    cells[0]: cells[1:]
    for cells in ([cell.strip() for cell in row.split("|")[1:-1]] for row in TABLE.splitlines() if row.startswith("| "))
}
# The services of the README, in the order of its columns, by the names of docs/guides/conformance.md.
NAMES = ("durable-agent-host", "agent-framework-azurefunctions", "agent-framework-foundry-hosting", "langgraph-api")

pytestmark = pytest.mark.behaviour("conformance.fair")


def cell(found: Mapping[str, str], subject: str) -> str:
    """Return what the README says of one service, by the subjects of a row."""
    names = [check.name for check in ALL_CHECKS if check.name.partition(".")[0] in subject.split()]
    outcomes = [found.get(name, "not offered") for name in names]
    passed, failed = outcomes.count("passed"), outcomes.count("failed")
    if passed == len(outcomes):
        return "yes"
    if passed:
        return f"{passed} of {len(outcomes)}{f', {failed} failed' if failed else ''}"
    return next(word for word in ("failed", "not tried", "not offered") if word in outcomes)


def sums(found: Mapping[str, str]) -> Sequence[int]:
    """Return how many checks passed, failed, were not offered and were not tried."""
    outcomes = [found.get(check.name, "not offered") for check in ALL_CHECKS]
    return [outcomes.count(word) for word in ("passed", "failed", "not offered", "not tried")]


def test_each_cell_of_the_comparison_is_what_the_pack_found() -> None:
    """By subjects; the outcomes are those that the tests of the services hold."""
    expected = {row: [cell(found, subject) for found in SERVICES] for row, subject in SUBJECTS.items()}
    counts = [f"**{sums(found)[0]}**" for found in SERVICES]

    assert {row: cells for row, cells in ROWS.items() if row in expected} == expected
    assert ROWS[f"Passed, of {len(ALL_CHECKS)} checks"] == counts
    assert {check.name.partition(".")[0] for check in ALL_CHECKS} == set(" ".join(SUBJECTS.values()).split())


def test_the_sums_of_the_page_are_what_the_pack_found() -> None:
    """In its table of results, a row for each service."""
    results = part(page("docs/guides/conformance.md"), "## Results")
    rows = [[cell.strip() for cell in row.split("|")[1:-1]] for row in results.splitlines() if row.startswith("| ")]
    listed = [next([int(count) for count in row[2:]] for row in rows if row[0].startswith(name)) for name in NAMES]

    assert listed == [sums(found) for found in SERVICES]


def test_the_columns_of_the_comparison_are_the_services_with_their_versions() -> None:
    """As the page of results names them."""
    results = part(page("docs/guides/conformance.md"), "## Results")
    versions = [re.findall(rf"^\| {name} (\S+)", results, re.MULTILINE)[0] for name in NAMES[1:]]

    assert [version in cell for version, cell in zip(versions, ROWS[""][1:], strict=True)] == [True] * 3
