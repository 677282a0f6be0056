"""Durable functions through the whole host: loading, client, engine, restart, reset."""

from __future__ import annotations

import shutil
import signal
import sys
from pathlib import Path

import httpx
import pytest

from tests.support.running_host import APPS, GUARD_SECONDS, RunningHost, run_command

pytestmark = pytest.mark.slow


@pytest.fixture
def app_folder(tmp_path: Path) -> Path:
    """A copy, so that the engine's files stay out of the project."""
    return Path(shutil.copytree(APPS / "durable", tmp_path / "app"))


def write(host: RunningHost, text: str) -> None:
    answer = httpx.post(f"{host.origin}/api/notes/n", content=text, timeout=GUARD_SECONDS)
    assert answer.status_code == 202


def read(host: RunningHost, count: int) -> list[str]:
    notes: list[str] = httpx.get(f"{host.origin}/api/notes/n?count={count}", timeout=GUARD_SECONDS).json()
    return notes


@pytest.mark.behaviour("devhost.durable-functions")
def test_state_and_unfinished_work_survive_the_death_of_the_process(app_folder):
    """SIGKILL while an operation runs: after the restart it runs again, and nothing is lost or doubled."""
    with RunningHost(app_folder) as host:
        write(host, "one")
        write(host, "slow")
        host.wait_for("writing slow")
        host.process.kill()
        host.process.wait(GUARD_SECONDS)
    with RunningHost(app_folder) as host:
        assert read(host, 2) == ["one", "slow"]
        write(host, "three")
        assert read(host, 3) == ["one", "slow", "three"]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGTERM to send to a process")
@pytest.mark.behaviour("devhost.drains")
def test_a_running_operation_ends_before_the_host_does(app_folder):
    """It is committed, not run again."""
    with RunningHost(app_folder) as host:
        write(host, "slow")
        host.wait_for("writing slow")
        host.process.send_signal(signal.SIGTERM)
        assert host.process.wait(GUARD_SECONDS) == 0
    with RunningHost(app_folder) as host:
        assert read(host, 1) == ["slow"]
        write(host, "after")
        host.wait_for("writing after")
        assert not [line for line in host.printed if "writing slow" in line]


@pytest.mark.behaviour("devhost.one-host-per-folder")
@pytest.mark.parametrize("arguments", [("start", "--port", "0"), ("reset",)])
def test_a_second_process_on_the_folder_is_refused_and_harms_nothing(app_folder, arguments):
    """One sentence, exit code 1; the first host goes on."""
    with RunningHost(app_folder) as host:
        write(host, "one")
        ended = run_command(app_folder, *arguments)
        assert (ended.returncode, ended.stderr.count("\n")) == (1, 1)
        assert ended.stderr.startswith("Error: ")
        assert ".devhost" in ended.stderr
        assert read(host, 1) == ["one"]


@pytest.mark.behaviour("devhost.reset")
def test_reset_deletes_the_durable_state(app_folder):
    """What was written is gone after it."""
    with RunningHost(app_folder) as host:
        write(host, "one")
        assert read(host, 1) == ["one"]
    ended = run_command(app_folder, "reset")
    assert (ended.returncode, ended.stderr) == (0, "")
    with RunningHost(app_folder) as host:
        assert read(host, 0) == []
