"""What failed is tried once more, alone: pytest over a few small tests that fail now and then."""

from __future__ import annotations

import importlib.util

import pytest

from tests.support.inner_pytest import run_pytest
from tests.support.once_more import MOST_UNSTEADY

pytestmark = pytest.mark.slow
pytest_plugins = ["pytester"]

STEADY = "def test_steady(): pass\n"
BROKEN = "def test_broken(): assert 1 == 2\n"
UNSTEADY = """
import pathlib
import pytest

@pytest.mark.parametrize("number", range({count}))
def test_unsteady(number):
    mark = pathlib.Path(__file__).with_name(f"{{number}}.ran")
    if not mark.exists():
        mark.touch()
        raise AssertionError("the first time\\nmore of it")
"""
WORKERS = [[], *([["-p", "xdist", "-n1"]] if importlib.util.find_spec("xdist") else [])]
"""In one process, and with another that runs the tests where that can be had."""


def ran(pytester: pytest.Pytester, source: str, *arguments: str) -> tuple[int, list[str]]:
    """Run pytest over the tests; its status, and what it says of those that it tried once more."""
    pytester.makeconftest('pytest_plugins = ["tests.support.once_more"]\n')
    pytester.makepyfile(test_some=source)
    ended = run_pytest(pytester, "--once-more", *arguments)
    output = ended.stdout.str().partition(" tried once more ==")[2].splitlines()
    return ended.ret, [line for line in output if line.startswith(("unsteady", "failed twice"))]


@pytest.mark.behaviour("tests.once-more")
@pytest.mark.parametrize("workers", WORKERS)
def test_what_passes_the_second_time_is_named_and_what_fails_twice_fails_the_run(
    pytester: pytest.Pytester, workers: list[str]
) -> None:
    passed, named = ran(pytester, STEADY + UNSTEADY.format(count=1), *workers)
    (pytester.path / "0.ran").unlink()
    failed, told = ran(pytester, BROKEN + UNSTEADY.format(count=1), *workers)

    unsteady = "unsteady: test_some.py::test_unsteady[0]: AssertionError: the first time"
    assert (passed, named) == (0, [unsteady])
    assert (failed, told[0]) == (1, unsteady)
    assert [line.partition(": ")[::2] for line in told[1:]] == [("failed twice", "test_some.py::test_broken")]


@pytest.mark.behaviour("tests.once-more")
def test_more_than_three_unsteady_ones_fail_the_run(pytester: pytest.Pytester) -> None:
    most, _ = ran(pytester, UNSTEADY.format(count=MOST_UNSTEADY))
    for mark in pytester.path.glob("*.ran"):
        mark.unlink()
    status, output = ran(pytester, UNSTEADY.format(count=MOST_UNSTEADY + 1))

    assert (most, status, len(output)) == (0, 1, MOST_UNSTEADY + 1)
