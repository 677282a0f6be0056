"""Which processes of one machine live: the operating system knows, and says so of real ones."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from hosting.core.stores.processes import MachineProcesses

pytestmark = [pytest.mark.slow, pytest.mark.behaviour("service.dead-processes")]

NAMED = """
import sys
from pathlib import Path
from hosting.core.stores.processes import MachineProcesses
processes = MachineProcesses(Path(sys.argv[1]))
print(processes.name, flush=True)
sys.stdin.readline()
"""


@contextmanager
def other_process(log: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A process that uses the log, and its name."""
    command = [sys.executable, "-c", NAMED, str(log)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process, process.stdout.readline().strip()
        finally:
            process.kill()


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """The log's file, in a folder that is not there yet."""
    return tmp_path / "agents" / "log.sqlite"


def test_a_process_is_gone_once_it_was_killed_and_not_while_it_is_stopped(log: Path) -> None:
    here = MachineProcesses(log)
    with other_process(log) as (process, name):
        seen = [here.is_gone(name)]
        process.send_signal(signal.SIGSTOP)
        seen.append(here.is_gone(name))
        process.kill()
        process.wait()
        seen += [here.is_gone(name), MachineProcesses(log).is_gone(name)]

    assert name
    assert seen == [False, False, True, True]


def test_what_this_process_is_lives_while_it_is_open(log: Path) -> None:
    """Two apps of one process each have a name; closing one leaves the other's lock, which another process sees."""
    one, other, asks = (MachineProcesses(log) for _ in range(3))
    names = [one.name, other.name]
    one.close()
    answer = "import sys; from pathlib import Path; from hosting.core.stores.processes import MachineProcesses as M\n"
    answer += "print([M(Path(sys.argv[1])).is_gone(name) for name in sys.argv[2:]])"

    seen = subprocess.check_output([sys.executable, "-c", answer, str(log), *names], text=True)

    assert len({*names}) == 2
    assert [asks.is_gone(name) for name in names] == [True, False]
    assert seen.strip() == "[True, False]"
    assert (one.name, one.is_gone(other.name)) == ("", False)


@pytest.mark.parametrize("change", ["removed", "copied"])
def test_nothing_is_said_of_a_process_that_locks_another_file(log: Path, tmp_path: Path, change: str) -> None:
    """As where somebody removed the file of locks, or took the folder elsewhere: there the lease counts."""
    with other_process(log) as (_, name):
        if change == "removed":
            (log.parent / "log.sqlite-processes").unlink()
        else:
            shutil.copytree(log.parent, tmp_path / "copy")
            log = tmp_path / "copy" / "log.sqlite"

        assert MachineProcesses(log).is_gone(name) is False
    assert MachineProcesses(log).is_gone("") is False
