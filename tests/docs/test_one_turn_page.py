"""docs/contributing/one-turn.md names every function that a plain turn enters, as a real one does on the local host."""

import itertools
import json
import re
import subprocess
import sys
from typing import Any

import pytest

from tests.support.template_process import ROOT, copy_tree

PAGE = ROOT / "docs" / "contributing" / "one-turn.md"
MOST_FUNCTIONS = 367
MOST_FILES = 80
GUARD_SECONDS = 120
COSTS = {
    # The log: two appends, each a commit, and no read. The head that `write_append` compares is read by it.
    "hosting/core/stores/sqlite.py:write_append": 2,
    "hosting/core/stores/sqlite.py:read_head": 2,
    "hosting/core/stores/sqlite_writer.py:_commit": 2,
    # Accepted, claimed and completed are made bytes once each, and the head with each append; none is read back.
    "hosting/core/thread/events.py:_encoded": 3,
    "hosting/core/thread/events.py:decode": 0,
    "hosting/core/thread/head.py:encode": 2,
    "hosting/core/thread/head.py:decode": 0,
    # The conversation is written once by the entity, and not parsed: the process remembers it.
    "hosting/core/entity/batch.py:parse_batch": 1,
    "hosting/core/entity/batch.py:write_answer": 1,
    "state/codec.py:write": 1,
    "state/codec.py:read": 0,
    # The engine: a commit for the signal and one for the operation, which reads what waits for it once.
    "devhost/durable/store/sqlite.py:_write": 2,
    "devhost/durable/store/reader.py:_read_inbox": 1,
    "devhost/durable/wire.py:entity_payload": 1,
    "devhost/durable/answers.py:parse_entity_answer": 1,
    # The host has the caller's request and none from itself.
    "devhost/http/server.py:on_headers_complete": 1,
}
"""How often a turn enters functions that cost time, bytes or a disk."""


def documented() -> list[tuple[str, str]]:
    """Return the functions of the page, each with its file."""
    rows = re.findall(r"^\| `([\w/]+\.py)` \| (.*) \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    return [(file, name) for file, names in rows for name in re.findall(r"`(\w+)`", names)]


def rows_of(entered: list[tuple[str, str]]) -> str:
    """Return the rows of the page's table for these functions."""
    groups = itertools.groupby(entered, key=lambda one: one[0])
    return "\n".join(f"| `{file}` | {', '.join(f'`{name}`' for _, name in names)} |" for file, names in groups)


@pytest.fixture(scope="module")
def turn(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What `tests.support.turn_trace` printed of one turn, by the word in front of it."""
    folder = tmp_path_factory.mktemp("turn")
    copy_tree(folder)
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.turn_trace", str(folder)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=GUARD_SECONDS,
        check=False,
    )
    printed = dict(line.split(" ", 1) for line in done.stdout.splitlines() if line.startswith(("TRACE ", "COUNTS ")))
    assert printed, done.stdout + done.stderr
    return {name: json.loads(text) for name, text in printed.items()}


@pytest.mark.slow
def test_the_page_names_what_a_turn_enters_and_nothing_else(turn: dict[str, Any]) -> None:
    """Whoever changes the way of a turn changes its page: the rows to put there are shown where they differ."""
    entered = [(file, name) for file, name in turn["TRACE"]]

    assert set(documented()) == set(entered), rows_of(entered)


@pytest.mark.slow
@pytest.mark.behaviour("turn.counts")
def test_a_turn_costs_its_two_writes(turn: dict[str, Any]) -> None:
    """What is dear is done so often in one turn of a thread that the app knows. Seconds depend on the machine."""
    done = {name: turn["COUNTS"].get(name, 0) for name in COSTS}

    assert done == COSTS


def test_a_turn_enters_few_functions() -> None:
    """A reader pays for each hop. This goes down, but for a feature."""
    functions = documented()
    files = {file for file, _ in functions}

    assert f"It is {len(functions)} functions in {len(files)} files." in PAGE.read_text(encoding="utf-8")
    assert len(functions) <= MOST_FUNCTIONS
    assert len(files) <= MOST_FILES
