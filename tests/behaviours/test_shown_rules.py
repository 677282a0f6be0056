"""The run that is held to its rules: pytest over a few small tests and the real table of skips."""

from __future__ import annotations

import importlib.util

import pytest

from tests.support.inner_pytest import run_pytest

pytest_plugins = ["pytester"]

INI = "[pytest]\ntestpaths = tests\nmarkers =\n    behaviour(id): shows a rule\n    slow: slow\n"
BEGIN = "import pytest\n\n"
SHOWN = BEGIN + "@pytest.mark.behaviour('turn.log-down')\ndef test_shown(): pass\n"
UNLISTED = BEGIN + "@pytest.mark.behaviour('turn.log-down')\ndef test_left_out(): pytest.skip('not today')\n"
ALLOWED = BEGIN + (
    "@pytest.mark.behaviour('journal.zombies')\n"
    "@pytest.mark.skip(reason='needs the small real model: so it says')\n"
    "def test_allowed(): pass\n"
)
WHOLE_FILE = BEGIN + (
    "pytest.skip('not today', allow_module_level=True)\n"
    "@pytest.mark"  # in two parts, so that this file is not taken to show that rule
    '.behaviour("streams.batched")\n'
    "def test_never_collected(): pass\n"
)
KNOWN_TO_FAIL = BEGIN + (
    "@pytest.mark.behaviour('streams.mended')\n@pytest.mark.xfail(strict=True)\ndef test_known(): assert False\n"
)


WORKERS = [[], *([["-p", "xdist", "-n1"]] if importlib.util.find_spec("xdist") else [])]
"""In one process, and with another that runs the tests where that can be had."""


def ran(pytester: pytest.Pytester, *arguments: str, **files: str) -> tuple[int, list[str]]:
    """Run pytest over these files; its status, and the lines that it says of the rules but for what is promised."""
    pytester.makeini(INI)
    pytester.makeconftest('pytest_plugins = ["tests.support.shown_rules"]\n')
    for name, source in files.items():
        file = pytester.path / "tests" / f"{name.replace('__', '/')}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(source, encoding="utf-8")
    ended = run_pytest(pytester, *arguments)
    output = ended.stdout.str().partition(" rules ==")[2].splitlines()
    other = ("=", "not shown: ", "allowed_skips.py allows")
    return ended.ret, [line for line in output if line and not line.startswith(other)]


@pytest.mark.slow
@pytest.mark.behaviour("tests.skips-listed")
def test_a_skip_that_the_table_does_not_name_fails_a_strict_run(pytester: pytest.Pytester) -> None:
    """Of a test, and of a whole file; one that it names does not, nor does a test that is known to fail."""
    files = {"test_own": UNLISTED + SHOWN.removeprefix(BEGIN), "test_whole": WHOLE_FILE, "test_known": KNOWN_TO_FAIL}

    status, output = ran(pytester, "--strict-skips", "tests/", **files, model__test_allowed=ALLOWED)

    assert status == 1
    assert [line.partition(" was skipped (not today), and ")[0] for line in output] == [
        "tests/test_own.py::test_left_out",
        "tests/test_whole.py",
    ]


@pytest.mark.slow
@pytest.mark.behaviour("tests.rules-executed")
@pytest.mark.parametrize("workers", WORKERS)
def test_a_rule_that_only_skipped_tests_hold_fails_a_strict_run_of_all(
    pytester: pytest.Pytester, workers: list[str]
) -> None:
    """Though each of the skips is allowed; what was shown is counted."""
    status, output = ran(pytester, "--strict-skips", *workers, test_own=SHOWN, model__test_allowed=ALLOWED)

    assert status == 1
    assert [line.partition(", ")[2] for line in output[:1]] == ["1 shown by tests that ran"]
    assert [line.partition(",")[0] for line in output[1:]] == [
        "The rule journal.zombies was shown by no test: all of its tests were skipped"
    ]


@pytest.mark.slow
@pytest.mark.behaviour("tests.rules-executed")
def test_a_rule_of_recordings_that_this_clone_lacks_is_printed_as_not_shown(pytester: pytest.Pytester) -> None:
    """They are no part of the repository, and whoever clones it can pass its gate."""
    reason = "the recordings are not beside this checkout"
    without = ALLOWED.replace("needs the small real model: so it says", reason)

    status, output = ran(pytester, "--strict-skips", test_own=SHOWN, test_recorded=without)

    assert (status, len(output)) == (0, 1)
