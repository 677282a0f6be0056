"""The measure of the import: what it reads of Python, what it compares, and which bytecode there is."""

from pathlib import Path

import pytest

from benchmarks.app_folder import ROOT
from benchmarks.figures import Figure
from benchmarks.host_process import HostStartError
from benchmarks.measures.imports import DEPLOYED, Import, carry_out, laid_out, of_modules, self_seconds, smallest

PRINTED = """import time: self [us] | cumulative | imported package
import time:       250 |        250 |   state
import time:      1500 |       1750 | hosting.app
The app says something.
"""


def test_the_time_within_each_module_is_read_of_what_python_prints() -> None:
    """The time of its imports is theirs; the head and what the app prints are no modules."""
    assert self_seconds(PRINTED) == {"state": 0.00025, "hosting.app": 0.0015}


def test_of_several_runs_each_module_counts_with_its_least_time() -> None:
    """One that a run did not import counts with the others' runs."""
    assert smallest([{"state": 3.0, "hosting": 1.0}, {"state": 2.0, "hosting": 4.0, "re": 5.0}]) == {
        "state": 2.0,
        "hosting": 1.0,
        "re": 5.0,
    }


def test_our_packages_stand_beside_all_that_is_needed() -> None:
    """A module of another package with a like name is not ours."""
    ours = {"hosting": 1.0, "hosting.app": 2.0, "state": 0.5, "statement": 9.0}
    figures = list(of_modules({"needed": {"azure": 4.0, "fastapi": 6.0}, "without": ours, "with": {"hosting": 1.0}}))

    assert figures[:4] == [
        Figure("hosting without", 3.0, "s"),
        Figure("hosting without, over needed", 0.3),
        Figure("state without", 0.5, "s"),
        Figure("state without, over needed", 0.05),
    ]


@pytest.mark.slow
def test_the_app_is_laid_out_with_its_bytecode_and_without() -> None:
    """Whatever this checkout has of it."""
    with laid_out(ROOT) as folders:
        compiled = {kind: len(list(folder.rglob("*.pyc"))) for kind, folder in folders.items()}
        sources = len(list(folders["with"].rglob("*.py")))

        assert compiled == {"without": 0, "with": sources}
        assert {path.name for path in folders["without"].iterdir()} == set(DEPLOYED)


def test_an_import_writes_no_bytecode(tmp_path: Path) -> None:
    """Else the second take without bytecode would have some."""
    (tmp_path / "small.py").write_text("import sys; print('seen', file=sys.stderr)")

    assert carry_out(Import("import small", tmp_path)) == "seen\n"
    assert [path.name for path in tmp_path.iterdir()] == ["small.py"]


def test_an_import_that_fails_is_told_with_what_it_said(tmp_path: Path) -> None:
    """No figure comes of it."""
    with pytest.raises(HostStartError, match="No module named 'missing'"):
        carry_out(Import("import missing", tmp_path))
