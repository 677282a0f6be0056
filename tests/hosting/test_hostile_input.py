"""What foreign bytes cost: twice the input at most three times, for every parser and pattern there is."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.hosting.hostile_input import ENOUGH, PARSERS, UNREACHED, runs
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


@pytest.mark.behaviour("http.bounded-parsing")
@pytest.mark.parametrize("name", REACHED)
def test_a_pattern_by_itself_is_linear_too(name: str) -> None:
    """No bound that stands before it today is what it relies on."""
    module, _, attribute = name.rpartition(".")
    pattern: re.Pattern[Any] = getattr(importlib.import_module(module), attribute)

    def made(input_of: Callable[[int], str]) -> Callable[[int], str | bytes]:
        return input_of if isinstance(pattern.pattern, str) else lambda size: input_of(size).encode()

    inputs = runs("a", "0", "a/b").items()
    grown = {given: growth(made(input_of), pattern.fullmatch, ENOUGH) for given, input_of in inputs}

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


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("import re\n_A = re.compile('a')\n_B: Final = re.compile('b')", ["m._A", "m._B"]),
        ("import re\ndef f(a):\n    return re.sub('a', 'b', a)", ["m.line 3"]),
        ("from re import compile as other\n_A = other('a')", ["m.line 1"]),
        ("import re2\n_A = re2.compile('a')", []),
    ],
)
def test_a_pattern_is_found_however_it_is_written(source: str, names: list[str]) -> None:
    """RE2's own are linear."""
    assert list(patterns_of("m", source)) == names
