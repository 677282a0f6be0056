"""A real process, killed at each named point as `kill -9` does, and started again."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from devhost.durable.crash import CrashPoints
from tests.support.warm_python import start_python

# The journey passes each point at least so often, whatever runs first: its own five episodes and its child's two come
# one behind another, each with a commit; it has two activities, and two batches however its last operations meet.
_PASSINGS = {
    "before-commit": (1, 3, 7),
    "inside-commit": (1, 3, 7),
    "after-commit": (1, 3, 7),
    "before-orchestrator": (1, 3, 7),
    "after-orchestrator": (1, 3, 7),
    "before-activity": (1, 2),
    "after-activity": (1, 2),
    "before-entity": (1, 2),
    "after-entity": (1, 2),
}
# Where there is no such signal, the process ends with this code instead (`devhost/durable/crash.py`).
_BY_SIGKILL = -signal.SIGKILL if hasattr(signal, "SIGKILL") else 137
_ENDED = 'ended [["one","two"],1,111] tally 111\n'


def _run(folder: Path, *words: str, crash_at: str = "") -> tuple[int | None, str]:
    """Return how the program ended, and what it printed."""
    environ = {**os.environ, "DEVHOST_CRASH_AT": crash_at}
    program = "tests.devhost.durable.killed_program"
    process = start_python(program, str(folder), *words, environ=environ, has_errors=True)
    printed, complained = process.communicate()
    print(complained)
    return process.returncode, printed


@pytest.mark.behaviour("engine.kill-9")
@pytest.mark.slow
@pytest.mark.parametrize(
    ("point", "passing"), [(point, passing) for point in _PASSINGS for passing in _PASSINGS[point]]
)
def test_a_killed_process_goes_on_where_it_was(tmp_path: Path, point: str, passing: int) -> None:
    """Same output and state; an activity or a batch may run twice, never more, and its record is there once."""
    assert _run(tmp_path, "start", crash_at=f"{point}:{passing}") == (_BY_SIGKILL, "")
    is_started = (tmp_path / "durable.db").exists() and "j" in _instances(tmp_path)
    assert _run(tmp_path, *([] if is_started else ["start"])) == (0, _ENDED)
    effects = (tmp_path / "effects.txt").read_text().splitlines()
    assert dict.fromkeys(effects, 0).keys() == {"act one", "act two", "tally 1", "tally 11", "tally 111"}
    assert all(effects.count(line) <= 2 for line in effects)


def _instances(folder: Path) -> list[str]:
    import sqlite3

    connection = sqlite3.connect(folder / "durable.db")
    try:
        return [name for (name,) in connection.execute("SELECT instance_id FROM orchestrations")]
    finally:
        connection.close()


def test_an_unknown_point_is_refused_by_name() -> None:
    """A misspelt point would make a test that kills nothing."""
    with pytest.raises(ValueError, match="DEVHOST_CRASH_AT names 'nowhere'; the points are before-commit, "):
        CrashPoints("nowhere:2")
