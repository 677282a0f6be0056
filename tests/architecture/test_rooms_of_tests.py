"""Where tests stand, and where they have from what they share."""

import re
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
