"""What is chosen at random: the same in each run of the gate, by a seed that can be given, and anew where a run
explores. pytest itself, as a process.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.running_host import ROOT
from tests.support.seeds import EXPLORES, MORE

pytestmark = pytest.mark.slow

CHOOSES = """
import random
import pytest
from hypothesis import given, strategies as st

def test_by_a_fixture(seed):
    print("chosen", random.Random(seed).random())
    assert False

@given(st.integers(0, 10**9))
def test_by_hypothesis(number):
    print("chosen", number)
    assert number < 1000

@given(st.integers(0, 10**9))
def test_so_often(number):
    print("chosen", number, "often")

def test_that_chooses_nothing():
    print("nothing")
    assert False

@pytest.mark.explore
def test_that_is_long():
    print("long")
    assert False
"""
NUMBERS = "NUMBERS = [" + ", ".join(str(123_456_700 + n) for n in range(99)) + "]\n"


@pytest.fixture(scope="module")
def of_the_gate(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What the gate's run prints, where a module of ours was imported before that has nothing in it."""
    folder = tmp_path_factory.mktemp("gate")
    (folder / "ours.py").write_text("", encoding="utf-8")
    return printed(folder, "-s", "-p", "ours")


@pytest.fixture(scope="module")
def exploring(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What a run prints that explores."""
    return printed(tmp_path_factory.mktemp("exploring"), "-s", explores=True)


def chosen(output: str) -> list[str]:
    """Return what the tests chose, in order."""
    return re.findall(r"^\W*chosen ([\d.]+)", output, re.MULTILINE)


def printed(folder: Path, *arguments: str, explores: bool = False) -> str:
    """Run the tests, most of which fail; what pytest prints."""
    (folder / "conftest.py").write_text('pytest_plugins = ["tests.support.seeds"]\n', encoding="utf-8")
    (folder / "test_chooses.py").write_text(CHOOSES, encoding="utf-8")
    shutil.rmtree(folder / ".hypothesis", ignore_errors=True)
    command = [sys.executable, "-m", "pytest", "-p", "_hypothesis_pytestplugin", "-p", "no:cacheprovider", *arguments]
    environ = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(ROOT), str(folder)]),
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    }
    environ.pop(EXPLORES, None)
    if explores:
        environ[EXPLORES] = "1"
    return subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True, check=False).stdout


@pytest.mark.behaviour("tests.no-dice")
def test_two_runs_of_the_gate_choose_the_same(tmp_path: Path, of_the_gate: str) -> None:
    """Also where another module was imported before, whose numbers Hypothesis would try."""
    (tmp_path / "ours.py").write_text(NUMBERS, encoding="utf-8")
    again = printed(tmp_path, "-s", "-p", "ours")

    assert len(chosen(of_the_gate)) > 2
    assert chosen(of_the_gate) == chosen(again)


@pytest.mark.behaviour("tests.seeds-printed")
def test_a_seed_chooses_the_same_again_and_another_one_something_else(tmp_path: Path) -> None:
    """In tests that ask for it and in those of hypothesis."""
    first, again, other = (chosen(printed(tmp_path, "-s", "--seed", str(seed))) for seed in (1, 1, 2))

    assert len(first) > 2
    assert first == again
    assert (first[0] != other[0], first[1:] != other[1:]) == (True, True)


@pytest.mark.behaviour("tests.seeds-printed")
def test_a_run_that_explores_chooses_anew_and_says_what_repeats_it(tmp_path: Path, exploring: str) -> None:
    """The seed of the run beside the test that asked for it and at the run's end; the example, where it failed."""
    output = printed(tmp_path, explores=True)

    (number,) = set(re.findall(r"^seed (\d+): what is chosen .* --seed \1$", output, re.MULTILINE))
    assert output.count(f"seed {number}: ") == 2
    assert "@reproduce_failure(" in output
    assert f"seed {number}: " not in exploring


@pytest.mark.behaviour("tests.explore")
def test_a_run_that_explores_has_the_tests_that_choose_with_more_examples_and_the_long_ones(
    of_the_gate: str, exploring: str
) -> None:
    """And none of the others; the gate has the others, and not the long ones."""
    assert ("::test_that_chooses_nothing" in of_the_gate, "::test_that_is_long" in of_the_gate) == (True, False)
    assert ("::test_that_chooses_nothing" in exploring, "::test_that_is_long" in exploring) == (False, True)
    assert exploring.count(" often") == MORE * of_the_gate.count(" often")
