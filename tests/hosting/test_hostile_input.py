"""What foreign bytes cost: twice the input at most three times, for every parser and pattern there is."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.hosting.hostile_input import PARSERS, UNREACHED
from tests.support.growth import MOST_GROWTH, growth

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("hosting", "state")
REACHED = sorted(name for parser in PARSERS.values() for name in parser.patterns)


def patterns_of(module: str, source: str) -> Iterator[str]:
    """Iterate over the names that a module gives to what it has of `re`; what has no name is listed by its line."""
    tree = ast.parse(source)
    named = {
        id(node.value): ast.unparse(node.target if isinstance(node, ast.AnnAssign) else node.targets[0])
        for node in tree.body
        if isinstance(node, ast.Assign | ast.AnnAssign)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func).startswith("re."):
            yield f"{module}.{named.get(id(node), f'line {node.lineno}')}"
        if isinstance(node, ast.ImportFrom) and node.module == "re":
            yield f"{module}.line {node.lineno}"


@pytest.mark.slow
@pytest.mark.behaviour("http.bounded-parsing")
@pytest.mark.parametrize("name", list(PARSERS))
def test_twice_the_input_costs_no_more_than_three_times(name: str) -> None:
    """Whatever it is made of; a ratio of two timings, for what happens inside of a parser cannot be counted."""
    parser = PARSERS[name]

    grown = {given: growth(input_of, parser, parser.largest) for given, input_of in parser.inputs.items()}

    assert {given: ratio for given, ratio in grown.items() if ratio > MOST_GROWTH} == {}


@pytest.mark.slow
@pytest.mark.behaviour("http.bounded-parsing")
def test_every_pattern_is_in_the_table_or_reached_by_no_foreign_bytes() -> None:
    """A new one has its place in one of the two, and a removed one has none."""
    found = sorted(
        name
        for package in PACKAGES
        for path in (ROOT / package).rglob("*.py")
        for name in patterns_of(
            ".".join(path.relative_to(ROOT).with_suffix("").parts), path.read_text(encoding="utf-8")
        )
    )

    assert found == sorted([*REACHED, *UNREACHED])
