"""The lowest versions that the requirements allow: each Python can have them."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from tests.support.interpreters import APP_REQUIREMENTS
from tests.support.page_tables import rows
from tests.support.pages import page
from tests.support.template_process import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.behaviour("template.floors")]

LOWEST = ("--resolution", "lowest-direct")
_LINE = re.compile(r"([\w.-]+)(?:\[\w+\])?>=([\w.]+)[^;]*(?:; python_version (<|>=) \"3\.(\d+)\")?")


def floors(minor: int) -> dict[str, str]:
    """Return the lowest version of each package that is asked for on Python 3.`minor`."""
    files = [ROOT / name for name in ("requirements.txt", *APP_REQUIREMENTS)]
    lines = [line for file in files for line in file.read_text().splitlines()]
    matches = [match for line in lines if (match := _LINE.match(line))]
    return {
        name: version
        for name, version, than, other in (match.groups() for match in matches)
        if than is None or (minor < int(other)) == (than == "<")
    }


@pytest.mark.parametrize("minor", [11, *(pytest.param(minor, marks=pytest.mark.explore) for minor in (12, 13)), 14])
def test_each_floor_is_a_version_that_is_installed_without_a_compiler(minor: int) -> None:
    """One without a wheel for that Python is none. What others of them ask for may be higher: that is left out here."""
    command = [sys.executable, "-m", "uv", "pip", "compile", *LOWEST, "--only-binary", ":all:", "--no-deps"]
    command += ["--no-header", "--no-annotate", "--quiet", "--python-version", f"3.{minor}", *APP_REQUIREMENTS]
    command.insert(3, "--no-python-downloads")  # of one that is not there: the one that is here resolves for it, too
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    taken = dict(line.split("==") for line in ended.stdout.splitlines() if "==" in line)

    assert ended.returncode == 0, ended.stderr
    assert {name: _numbers(taken[name]) for name in floors(minor)} == {
        name: _numbers(version) for name, version in floors(minor).items()
    }


def test_each_floor_has_its_reason_in_the_policy() -> None:
    reasons = rows(page("DEPENDENCY_POLICY.md"), "package")

    assert sorted((name, version) for name, version, _ in reasons) == sorted({*floors(11).items(), *floors(14).items()})
    assert all(reason for *_, reason in reasons)


def _numbers(version: str) -> list[int]:
    numbers = [int(number) for number in version.split(".")]
    while numbers[-1:] == [0]:
        numbers.pop()
    return numbers
