"""Where tests stand and have from what they share, and what none of them does."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.architecture.imports import ROOT

TESTS = ROOT / "tests"
IMPORTED = re.compile(r"^\s*(?:from|import) (tests\.[\w.]+)", re.MULTILINE)
SHARED = "tests.support"
"""What every room may import."""


def room(path: Path) -> str:
    """Return the folder whose modules a file may import: the room's, below tests/hosting the package's."""
    folders = path.relative_to(ROOT).parts[:-1]
    return ".".join(folders[: 3 if folders[:2] == ("tests", "hosting") else 2])


@cache
def imports_between_tests() -> list[tuple[Path, str]]:
    """Return each file of tests/ and benchmarks/ with each module of tests/ that it imports."""
    files = [path for top in ("tests", "benchmarks") for path in sorted((ROOT / top).rglob("*.py"))]
    return [(path, name) for path in files for name in IMPORTED.findall(path.read_text(encoding="utf-8"))]


@pytest.mark.behaviour("tests.mirror")
def test_the_tests_of_hosting_stand_by_its_packages() -> None:
    """A folder for each package with modules, and none besides but that of what all doors promise."""
    packages = {path.parent.relative_to(ROOT) for path in (ROOT / "hosting").glob("*/**/[a-z]*.py")}
    folders = {path.parent.relative_to(TESTS) for path in (TESTS / "hosting").glob("*/**/test_*.py")}

    assert folders == {*packages, Path("hosting/doors")}


@pytest.mark.behaviour("tests.mirror")
def test_nothing_is_imported_from_a_test_module_or_from_a_conftest() -> None:
    """What two of them need stands in a module of its own: pytest imports its own files under names of its own."""
    last = [(path.stem, name.rpartition(".")[2]) for path, name in imports_between_tests()]
    others = [found for found in last if found[0] != found[1]]  # programs that a test writes import what it has

    assert [found for found in others if found[1].startswith("test_") or found[1] == "conftest"] == []


@pytest.mark.behaviour("tests.mirror")
def test_what_several_rooms_share_stands_in_support() -> None:
    """A module imports from its own room and from there."""
    foreign = [
        (str(path), name)
        for path, name in imports_between_tests()
        if not f"{name}.".startswith((f"{room(path)}.", SHARED))
    ]

    assert foreign == []


CLOCKS = {"monotonic", "perf_counter", "process_time", "thread_time", "time"}
CALLED = [f"{clock}{unit}(" for clock in CLOCKS for unit in ("", "_ns")]


def timed_comparisons(source: str) -> Iterator[int]:
    """Iterate over the lines that compare a difference of two moments; the end of a guard is a sum, and may be."""
    tree = ast.parse(source)
    moments, spans = set(), set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            if _is_clock(node.value):
                moments.add(node.targets[0].id)
            elif _has_span(node.value, moments):
                spans.add(node.targets[0].id)
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare) and (_has_span(node, moments) or _names(node) & spans):
            yield node.lineno


def _is_clock(node: ast.AST) -> bool:
    name = ast.unparse(node.func).rpartition(".")[2] if isinstance(node, ast.Call) else ""
    return name.removesuffix("_ns") in CLOCKS


def _has_span(node: ast.AST, moments: set[str]) -> bool:
    differences = (part for part in ast.walk(node) if isinstance(part, ast.BinOp) and isinstance(part.op, ast.Sub))
    return any(_is_clock(part.left) or _names(part.left) & moments for part in differences)


def _names(node: ast.AST) -> set[str]:
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}


@pytest.mark.behaviour("tests.no-seconds")
def test_no_test_compares_how_long_something_took() -> None:
    """What must not take long is counted, shown by the order of events, or by a ratio (tests/support/growth.py)."""
    found = {
        f"{path.relative_to(ROOT)}:{line}"
        for path in sorted((ROOT / "tests").rglob("*.py"))
        for source in [path.read_text(encoding="utf-8")]
        if any(clock in source for clock in CALLED)  # few do, and to parse all takes seconds
        for line in timed_comparisons(source)
    }

    assert found == set()


def test_a_comparison_with_seconds_is_found_and_a_guard_is_none() -> None:
    """Else the rule above would hold because nothing is seen."""
    compared = "began = loop.time()\ntook = loop.time() - began\nassert (line, took < 1.0) == ('x', True)"
    guard = "end = time.monotonic() + 5\nwhile missing():\n    assert time.monotonic() < end"

    assert (list(timed_comparisons(compared)), list(timed_comparisons(guard))) == ([3, 3], [])
