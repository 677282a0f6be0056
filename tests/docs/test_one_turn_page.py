"""docs/one-turn.md names every function that a plain turn enters, as a real one does on the local host."""

import itertools
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.template_process import ROOT, copy_tree

PAGE = ROOT / "docs" / "one-turn.md"
MOST_FUNCTIONS = 293
MOST_FILES = 59
GUARD_SECONDS = 120


def documented() -> list[tuple[str, str]]:
    """Return the functions of the page, each with its file."""
    rows = re.findall(r"^\| `([\w/]+\.py)` \| (.*) \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    return [(file, name) for file, names in rows for name in re.findall(r"`(\w+)`", names)]


def rows_of(entered: list[tuple[str, str]]) -> str:
    """Return the rows of the page's table for these functions."""
    groups = itertools.groupby(entered, key=lambda one: one[0])
    return "\n".join(f"| `{file}` | {', '.join(f'`{name}`' for _, name in names)} |" for file, names in groups)


@pytest.mark.slow
def test_the_page_names_what_a_turn_enters_and_nothing_else(tmp_path: Path) -> None:
    """Whoever changes the way of a turn changes its page: the rows to put there are shown where they differ."""
    copy_tree(tmp_path)
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.turn_trace", str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=GUARD_SECONDS,
        check=False,
    )
    printed = [line for line in done.stdout.splitlines() if line.startswith("TRACE ")]
    assert printed, done.stdout + done.stderr
    entered = [(file, name) for file, name in json.loads(printed[0].removeprefix("TRACE "))]

    assert set(documented()) == set(entered), rows_of(entered)


def test_a_turn_enters_few_functions() -> None:
    """A reader pays for each hop. This goes down, but for a feature."""
    functions = documented()
    files = {file for file, _ in functions}

    assert f"It is {len(functions)} functions in {len(files)} files." in PAGE.read_text(encoding="utf-8")
    assert len(functions) <= MOST_FUNCTIONS
    assert len(files) <= MOST_FILES
