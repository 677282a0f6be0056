"""The pytest plugin over a user's app: what passes, and what its kills find, by the words that pytest prints."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from tests.support.carriers import APP as APP_UNDER_TEST
from tests.support.inner_pytest import IN_WORKERS, run_pytest
from tests.support.pages import code, page
from tests.support.running_host import ROOT

pytest_plugins = ["pytester"]
pytestmark = pytest.mark.slow

APP = Path(__file__).resolve().parent / "app"


IN_PROCESS = ("-o", "agent_app_in_process=true")
WARM = "\nfrom tests.support.warm_hosts import _agent_app_hosts\n"
"""What a conftest.py has so that hosts are forks of this process's warm Python, which start in a tenth of the time."""


def copied(pytester: pytest.Pytester, *files: str, is_warm: bool = False) -> None:
    """Copy the app, and files of its tests; its hosts start warm, or as a user's do."""
    for source, name in {"function_app.py": "function_app.py", "shared_ledger.py": "conftest.py"}.items():
        shutil.copy(APP / source, pytester.path / name)
    for path in (*(APP / file for file in files), APP_UNDER_TEST / "host.json"):
        shutil.copy(path, pytester.path)
    if is_warm:
        with (pytester.path / "conftest.py").open("a", encoding="utf-8") as conftest:
            conftest.write(WARM)


def ran(pytester: pytest.Pytester, file: str, *arguments: str, apart: bool = False) -> pytest.RunResult:
    """Run a file of the app's tests in a copy of the app."""
    copied(pytester, file, is_warm=not apart)
    return run_pytest(pytester, "-v", file, *arguments, apart=apart)


@pytest.mark.behaviour("testing.fixtures")
@pytest.mark.behaviour("testing.time")
@pytest.mark.parametrize("process", [(), IN_PROCESS], ids=["apart", "in-process"])
def test_the_fixtures_do_the_same_in_either_process(pytester: pytest.Pytester, process: tuple[str, ...]) -> None:
    """Answers, tools, streams, a person, and the time that is moved."""
    ran(pytester, "checks_that_pass.py", *process, apart=True).assert_outcomes(passed=15)


@pytest.mark.behaviour("testing.in-process")
def test_an_app_in_the_process_of_its_tests_shares_it_and_leaves_it_as_it_was(pytester: pytest.Pytester) -> None:
    """Its code may be replaced, its variables are of one test, and only a marked test has a process that dies."""
    ran(pytester, "checks_in_process.py", *IN_PROCESS, apart=True).assert_outcomes(passed=3 + 2 + 2)


@pytest.mark.behaviour("testing.kills")
def test_a_sound_app_passes_its_tests_at_each_kill(pytester: pytest.Pytester) -> None:
    ended = ran(pytester, "checks_of_kills.py")

    ended.assert_outcomes(passed=5 + 8 + 1 + 1)
    ended.stdout.fnmatch_lines(
        [
            "*::test_a_safe_tool_pays_once[[]killed before the result of 'refund' was recorded[]] PASSED*",
            "*::test_a_safe_tool_pays_once[[]killed after the result of 'refund' was recorded[]] PASSED*",
        ]
    )


PAYS = "checks_of_kills.py::test_a_safe_tool_pays_once"
BEFORE, AFTER = (f"{side} the result of 'refund' was recorded" for side in ("before", "after"))


@pytest.mark.behaviour("testing.kills")
@pytest.mark.parametrize(
    ("chosen", "kills"),
    [
        ((PAYS, "--killed-at", AFTER), [AFTER]),
        ((f"{PAYS}[killed {BEFORE}]", "-p", IN_WORKERS, "-n", "1"), [BEFORE]),
        ((PAYS, "--killed-at-most", "1", "-p", IN_WORKERS, "-n", "1"), ["before the request was recorded"]),
    ],
    ids=["by-its-moment", "by-its-name-in-a-worker", "at-most-in-a-worker"],
)
def test_some_of_the_kills_are_chosen(pytester: pytest.Pytester, chosen: tuple[str, ...], kills: list[str]) -> None:
    """After the first run, which shows what there is to choose from."""
    copied(pytester, "checks_of_kills.py", is_warm=IN_WORKERS not in chosen)
    ended = run_pytest(pytester, "-v", *chosen)

    ended.assert_outcomes(passed=1 + len(kills), deselected=ended.parseoutcomes().get("deselected", 0))
    named = re.findall(r"pays_once\[killed (.*?)\] ", ended.stdout.str())
    assert list(dict.fromkeys(named)) == kills


@pytest.mark.behaviour("testing.kills")
def test_a_moment_that_is_chosen_and_does_not_come_fails(pytester: pytest.Pytester) -> None:
    """A green run that killed nothing would say too much."""
    ended = ran(pytester, "checks_of_kills.py", "-k", "pays_once", "--killed-at", "before lunch")

    ended.assert_outcomes(failed=1, deselected=4)
    ended.stdout.fnmatch_lines(["killed_at('before lunch was recorded') is no moment of this test. It has these:"])


@pytest.mark.behaviour("testing.kills")
def test_a_planted_fault_is_found_by_the_name_of_its_step(pytester: pytest.Pytester) -> None:
    """A tool that counts twice, at the one kill between its work and its record; and mistakes of the tests.

    The page shows the lines of that tool's test.
    """
    (shown,) = [block for block in code(page("docs/guides/testing.md"), "text") if "PASSED" in block]
    ended = ran(pytester, "checks_that_fail.py", "-rf")

    lines = re.findall(r"^\S+::(test_a_charge.*? [A-Z]+) ", ended.stdout.str(), re.MULTILINE)
    assert shown.replace("test_agents.py::", "").replace("refund", "charge").splitlines() == [
        line.replace("test_a_charge", "test_charge") for line in lines
    ]

    failed = [line.removeprefix("FAILED ") for line in ended.outlines if line.startswith("FAILED ")]
    named = {line.partition("::")[2].partition(" - ")[0]: line.partition(" - ")[2] for line in failed}
    assert set(named) == {
        "test_a_charge[killed before the result of 'charge' was recorded]",
        "test_a_call_made_twice",
        "test_a_script_that_is_too_short",
        "test_a_moment_that_is_none",
        "test_that_asks_nothing",
        "test_an_agent_that_is_not_named",
    }
    ended.stdout.fnmatch_lines(
        [
            "The tool 'transfer' was called 2 times for one call of the model, and it is not idempotent.",
            "The model was asked once more by 'clerk', and its script has no answer left: add one.",
            "killed_at('before lunch') is no moment of this test. It has these:",
            "  before the request was recorded",
            "A test that is marked killed_at asks its app something: use the fixture ask.",
            "E*ValueError: The app has 7 agents: *. Name one by agent=.",
        ]
    )
    ended.stdout.fnmatch_lines("*Captured agent_app, the process that ended*")


@pytest.mark.behaviour("testing.fixtures")
def test_the_tests_of_the_page_pass_for_the_app_of_the_template(pytester: pytest.Pytester) -> None:
    """Two of them, and one with its eight kills; its fixtures are the page's, too."""
    tests, fixtures, _ = code(page("docs/guides/testing.md"), "python")
    pytester.makepyfile(test_page=tests)
    pytester.makeconftest('pytest_plugins = ["hosting.testing.plugin"]\n\n' + fixtures + WARM)
    pytester.makeini(f"[pytest]\nagent_app_folder = {ROOT}\n")

    run_pytest(pytester, "-v").assert_outcomes(passed=2 + 1 + 8)


@pytest.mark.behaviour("testing.time")
def test_the_moved_time_of_the_page_passes_for_an_agent_whose_tool_asks(pytester: pytest.Pytester) -> None:
    _, _, moves = code(page("docs/guides/testing.md"), "python")
    copied(pytester)
    pytester.makepyfile(test_moves=moves)

    run_pytest(pytester, "-v", *IN_PROCESS, apart=True).assert_outcomes(passed=1)
