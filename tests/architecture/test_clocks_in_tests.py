"""No test compares how long something took with a number of seconds: a machine may be busy."""

import ast
from collections.abc import Iterator

import pytest

from tests.architecture.imports import ROOT

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


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ("began = time.monotonic()\nassert time.monotonic() - began < 5", [2]),
        ("began = loop.time()\ntook = loop.time() - began\nassert (line, took < 1.0) == ('x', True)", [3, 3]),
        ("began = perf_counter_ns()\nended = perf_counter_ns()\nassert ended - began < 9", [3]),
        ("end = time.monotonic() + 5\nwhile missing():\n    assert time.monotonic() < end", []),
        ("began = time.time()\nfigures.append(time.time() - began)\nassert len(lines) - 1 < 5", []),
    ],
)
def test_a_comparison_with_seconds_is_found_and_a_guard_is_none(source: str, lines: list[int]) -> None:
    assert list(timed_comparisons(source)) == lines
