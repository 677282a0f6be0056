"""`python dev.py operations --repair`, killed in the middle of it, and with its host killed: another one ends all."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import httpx
import pytest

from hosting.commands.operations import __name__ as COMMAND
from hosting.core.thread.commands import AcceptRun
from hosting.names import Address
from tests.faults.killed_app import CLERK, KILLED, KilledApp, kill_at
from tests.support.known_callers import left_behind
from tests.support.running_host import ROOT, START_GUARD_SECONDS, RunningHost
from tests.support.threads import accepted

pytestmark = [*KILLED, pytest.mark.behaviour("overview.stuck")]

IMPATIENT = (
    CLERK
    + """
import hosting.features.overview.operators_view

hosting.features.overview.operators_view.QUIET_SECONDS = 0.5
"""
)
"""The same app, which lists what was quiet for half a second."""
AGO_SECONDS = 1000.0
THREADS = ("one", "two", "three")
ASKED = "  retried: "


def start(app: KilledApp, **environ: str) -> RunningHost:
    return RunningHost(app.path, environ={**app.environ, **environ})


def repairing(host: RunningHost) -> subprocess.Popen[str]:
    """Start the command."""
    command = [sys.executable, "-u", "-m", COMMAND, "--repair", "--watch", "0", "--url", host.origin]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, cwd=ROOT, stdout=pipe, stderr=pipe, text=True)


def told(command: subprocess.Popen[str]) -> tuple[int, list[str], str]:
    """Return the command's exit code, what came of each thing that is stuck, and its complaints."""
    out, err = command.communicate(timeout=START_GUARD_SECONDS)
    return command.returncode, [line.removeprefix(ASKED) for line in out.splitlines() if line.startswith(ASKED)], err


def until_looked(host: RunningHost, wanted: Callable[[Any], bool]) -> None:
    """Return once an operator's look finds that, which reads and asks for nothing again."""
    end = time.monotonic() + START_GUARD_SECONDS
    while not wanted(httpx.get(f"{host.origin}/api/operations").json()):
        assert time.monotonic() < end
        time.sleep(0.05)


def repaired_in_full(host: RunningHost) -> set[int]:
    """Repair whenever something is stuck until no run is open, and return the exit codes.

    What the killed command asked for may still be at work as the next one looks, and be quiet, so stuck, only later.
    """
    codes: set[int] = set()
    while True:
        until_looked(host, lambda page: not is_open(page) or len(page["stuck"]) > 0)
        if not is_open(httpx.get(f"{host.origin}/api/operations").json()):
            return codes
        codes.add(told(repairing(host))[0])


def is_open(page: Mapping[str, Any]) -> bool:
    """Return whether a run of any agent has not ended."""
    return any(one["queued"] + one["running"] for one in page["agents"])


async def stuck_runs(app: KilledApp) -> Sequence[str]:
    """Leave a run on each thread, as processes that died long ago before they signalled; return their paths."""
    runs = []
    for n, thread_id in enumerate(THREADS):
        run_id = str(n) * 32
        event = accepted(run_id, at=time.time() - AGO_SECONDS)
        request = event.request.model_copy(update={"message": f"call look {n}"})
        named = {"agent": "Clerk", "thread_id": thread_id, "request": request}
        await left_behind(app.path, Address.of("Clerk", thread_id), AcceptRun(event.model_copy(update=named), 32))
        runs.append(f"/api/agents/Clerk/threads/{thread_id}/runs/{run_id}")
    return runs


def test_a_repair_that_is_killed_and_made_again_ends_each_stuck_run_once(tmp_path: Path) -> None:
    """The host dies as it is asked for the first; then the command dies after what it asked for; then it is let be.

    What the dead host wrote down and did not signal is quiet again before it is listed.
    """
    app = KilledApp(tmp_path, {"AGENT_LOG": "sqlite:.agents/log.sqlite"}, IMPATIENT)
    with start(app) as host:
        for thread_id in THREADS:
            body = {"message": "hello", "thread_id": thread_id}
            httpx.post(f"{host.origin}/api/agents/Clerk/run", json=body).raise_for_status()
        until_looked(host, lambda page: page["looked_at"] == len(THREADS))
    runs = asyncio.run(stuck_runs(app))

    with start(app, **kill_at("after 1")) as host:
        code, asked, _ = told(repairing(host))
        assert host.process.wait(START_GUARD_SECONDS) == -9
    with start(app) as host:
        until_looked(host, lambda page: len(page["stuck"]) == len(THREADS))
        killed = repairing(host)
        assert killed.stdout is not None
        first = next(line for line in killed.stdout if line.startswith(ASKED))
        killed.kill()
        killed.communicate()
        repaired = repaired_in_full(host)
        ended = [httpx.get(host.origin + run).json()["status"] for run in runs]

    assert (code, asked, first, killed.returncode) == (1, [], f"{ASKED}accepted\n", -9)
    assert repaired <= {0}
    assert ended == ["success"] * len(THREADS)
    assert app.tools == ["look"] * len(THREADS)
