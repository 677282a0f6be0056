"""What is chosen at random: by one seed that a run says, and again with it. pytest itself, as a process."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.running_host import ROOT

CHOOSES = """
import random
from hypothesis import given, strategies as st

def test_by_a_fixture(seed):
    print("chosen", random.Random(seed).random())
    assert False

@given(st.integers(0, 10**9))
def test_by_hypothesis(number):
    print("chosen", number)
    assert number < 1000
"""


def chosen(folder: Path, seed: int) -> list[str]:
    """Run both tests as CI does; what they chose, in order."""
    return re.findall(r"^chosen ([\d.]+)$", printed(folder, "--seed", str(seed)), re.MULTILINE)


def printed(folder: Path, *arguments: str) -> str:
    """Run both tests, which fail, as CI does; what pytest prints."""
    (folder / "conftest.py").write_text('pytest_plugins = ["tests.support.seeds"]\n', encoding="utf-8")
    (folder / "test_chooses.py").write_text(CHOOSES, encoding="utf-8")
    shutil.rmtree(folder / ".hypothesis", ignore_errors=True)
    command = [sys.executable, "-m", "pytest", "-p", "_hypothesis_pytestplugin", "-p", "no:cacheprovider", *arguments]
    environ = {**os.environ, "PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "CI": "true"}
    return subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True, check=False).stdout


@pytest.mark.behaviour("tests.seeds-printed")
def test_a_seed_chooses_the_same_again_and_another_one_something_else(tmp_path: Path) -> None:
    """In tests that ask for it and in those of hypothesis, also in CI."""
    first, again, other = chosen(tmp_path, 1), chosen(tmp_path, 1), chosen(tmp_path, 2)

    assert len(first) > 2
    assert first == again
    assert (first[0] != other[0], first[1:] != other[1:]) == (True, True)


@pytest.mark.behaviour("tests.seeds-printed")
def test_a_failure_says_what_repeats_it(tmp_path: Path) -> None:
    """The seed of the run beside the test that asked for it and at the run's end; the example, where it failed."""
    output = printed(tmp_path)

    (number,) = set(re.findall(r"^seed (\d+): what is chosen .* --seed \1$", output, re.MULTILINE))
    assert output.count(f"seed {number}: ") == 2
    assert "@reproduce_failure(" in output
