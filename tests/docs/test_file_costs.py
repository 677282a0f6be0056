"""docs/reference/costs.md: the month of 10,000 documents follows from what it assumes and what was counted."""

from __future__ import annotations

import math
import re

import pytest

from tests.support.pages import page

SECTION = page("docs/reference/costs.md").partition("## A month of 10,000 documents")[2]


def rows(heading: str) -> list[list[str]]:
    """Return the cells of the rows of the table with that heading."""
    table = SECTION.partition(f"| {heading} |")[2].partition("\n\n")[0]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[2:]]


def number(text: str) -> float:
    """Return a number as the page writes it."""
    return float(text.replace(",", ""))


@pytest.mark.behaviour("docs.file-costs")
def test_the_month_is_what_its_formulas_say() -> None:
    assumed = {name: number(value) for name, value in rows("assumed")}
    dollars = {name.partition("(")[0].strip(): value for name, value in assumed.items() if name.startswith("dollars")}
    documents, repeated = assumed["documents"], assumed["tokens that repeat the chunk before"]
    of_document = assumed["tokens of a document, about ten pages"] - repeated
    chunks = documents * math.ceil(of_document / (assumed["tokens of a chunk"] - repeated))
    counted = re.search(r"takes\s+(\d+) calls .*?, (\d+) writes or lists of blobs, and (\d+) reads", SECTION)
    assert counted is not None
    log, writes, reads = map(int, counted.groups())
    kilobytes = float(re.findall(r"takes ([\d.]+) kB", SECTION)[0])
    each = {
        "tokens embedded": (chunks * 800, dollars["dollars for 1,000,000 tokens embedded"] / 10**6),
        "operations of the log": (documents * log, dollars["dollars for 10,000 table operations"] / 10**4),
        "writes and lists of blobs": (
            documents * writes,
            dollars["dollars for 10,000 writes and lists of blobs"] / 10**4,
        ),
        "reads of blobs": (documents * reads, dollars["dollars for 10,000 reads of blobs"] / 10**4),
        "GB of documents": (documents * assumed["bytes of a document"] / 10**9, dollars["dollars for 1 GB of blobs"]),
        "GB of the index": (chunks * kilobytes / 10**6, dollars["dollars for 1 GB of blobs"]),
    }
    shown = {name: (amount, price) for name, _, amount, price in rows("a month")}

    assert number(shown["chunks"][0]) == chunks
    for name, (amount, price) in each.items():
        assert shown[name] == (f"{amount:,.2f}" if amount < 100 else f"{amount:,.0f}", f"{amount * price:.2f}"), name
    assert number(shown["all of it"][1]) == round(sum(amount * price for amount, price in each.values()), 2)
    assert number(shown["tokens for the model"][0]) == assumed["searches"] * 8000
