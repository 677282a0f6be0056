"""What failed is tried once more, alone: pytest as a process, over a few small tests that fail now and then."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.running_host import ROOT

pytestmark = pytest.mark.slow

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
WORKERS = [[], *([["-p", "xdist", "-n2"]] if importlib.util.find_spec("xdist") else [])]
"""In one process, and in two where they can be had."""


def ran(
    folder: Path, source: str, *arguments: str, plugins: str = '"tests.support.once_more"'
) -> tuple[int, list[str]]:
    """Run pytest over the tests; its status, and what it says of those that it tried once more."""
    (folder / "conftest.py").write_text(f"pytest_plugins = [{plugins}]\n", encoding="utf-8")
    (folder / "test_some.py").write_text(source, encoding="utf-8")
    environ = {**os.environ, "PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--once-more", *arguments]
    ended = subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True, check=False)
    output = ended.stdout.partition(" tried once more ==")[2].splitlines()
    return ended.returncode, [line for line in output if line.startswith(("unsteady", "failed twice"))]


@pytest.mark.behaviour("tests.once-more")
@pytest.mark.parametrize("workers", WORKERS)
def test_what_passes_the_second_time_is_named_and_fails_nothing(tmp_path: Path, workers: list[str]) -> None:
    """With the first line of what it failed with."""
    status, output = ran(tmp_path, STEADY + UNSTEADY.format(count=3), *workers)

    assert status == 0
    assert sorted(output) == [
        f"unsteady: test_some.py::test_unsteady[{number}]: AssertionError: the first time" for number in range(3)
    ]


@pytest.mark.behaviour("tests.once-more")
@pytest.mark.parametrize("workers", WORKERS)
def test_what_fails_twice_fails_the_run(tmp_path: Path, workers: list[str]) -> None:
    """Whatever passes beside it."""
    status, output = ran(tmp_path, BROKEN + UNSTEADY.format(count=1), *workers)

    assert status == 1
    assert [line.partition(": ")[::2] for line in output] == [
        ("unsteady", "test_some.py::test_unsteady[0]: AssertionError: the first time"),
        ("failed twice", "test_some.py::test_broken"),
    ]


@pytest.mark.behaviour("tests.once-more")
def test_more_than_three_unsteady_ones_fail_the_run(tmp_path: Path) -> None:
    """Each is named."""
    status, output = ran(tmp_path, UNSTEADY.format(count=4))

    assert (status, len(output)) == (1, 4)


@pytest.mark.behaviour("tests.once-more")
def test_a_file_that_cannot_be_read_fails_the_run(tmp_path: Path) -> None:
    """It has no tests to try."""
    status, output = ran(tmp_path, "import nothing_of_that_name\n")

    assert (status, output) == (2, [])


@pytest.mark.behaviour("tests.skips-listed")
@pytest.mark.behaviour("tests.once-more")
def test_a_strict_run_that_passes_the_second_time_is_held_to_its_skips_yet(tmp_path: Path) -> None:
    """What was tried once more hides no skip."""
    skipping = "import pytest\n\ndef test_left_out(): pytest.skip('not today')\n"
    both = '"tests.support.once_more", "tests.support.shown_rules"'

    status, output = ran(tmp_path, skipping + UNSTEADY.format(count=1), "--strict-skips", plugins=both)

    assert (status, len(output)) == (1, 1)
