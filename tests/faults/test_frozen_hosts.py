"""An HTTP host that is stopped while the engine answers it, as a machine is that sleeps: its runs end without it.

It stops itself behind a signal that the engine took, and never reads that answer; when it goes on, the time for it is
over. The thread's entity, in another process, has ended the run by then.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from hosting.names import new_id
from tests.support.app_folder import make_app
from tests.support.carriers import APP
from tests.support.grouped_app import GroupedApp, grouped_app
from tests.support.kept_in import over

pytestmark = [
    over("log_settings", "sqlite"),
    pytest.mark.slow,
    pytest.mark.behaviour("service.late-answers"),
    pytest.mark.skipif(sys.platform != "linux", reason="whether a process stands is read from /proc"),
]

GUARD_SECONDS = 60.0
HOST = json.loads((APP / "host.json").read_text(encoding="utf-8"))
SOURCE = '''
import asyncio, os, signal
from contextvars import ContextVar
from functools import partial
from pathlib import Path

import hosting.app
import hosting.functions.durable as durable
from tests.support.clerk import clerk

STOPS = Path(os.environ["STOPS"])
NOTES = Path(os.environ["NOTES"])
IS_SIGNAL = ContextVar("is_signal", default=False)


class StoppedClient(durable.DurableClient):
    """Stops its process once behind a signal that was taken, where a file says so, and reads no answer any more."""

    async def signal(self, *order):
        IS_SIGNAL.set(True)
        await super().signal(*order)
        IS_SIGNAL.set(False)

    async def _reached(self, call, **options):
        async def stopping():
            answer = await call()
            if IS_SIGNAL.get() and STOPS.exists():
                STOPS.unlink(missing_ok=True)
                os.kill(os.getpid(), signal.SIGSTOP)
                raise OSError("nobody read the answer")
            return answer

        return await super()._reached(stopping, **options)


def note(what):
    with NOTES.open("a", encoding="utf-8") as notes:
        notes.write(what + "\\n")


durable.DurableClient = StoppedClient
hosting.app.Services = partial(hosting.app.Services, lease_seconds=1.0, margin_seconds=0.5)
app = hosting.app.AgentFunctionApp(agents=[clerk(note)])
'''


@pytest.fixture
def app(tmp_path: Path, log_settings: dict[str, str]) -> Iterator[GroupedApp]:
    """Two HTTP hosts, of which the first stops where the file `stops` is there, and the durable one."""
    (tmp_path / "app").mkdir()
    folder = make_app(tmp_path / "app", SOURCE, host=HOST)
    settings = {**log_settings, "NOTES": str(tmp_path / "notes"), "STOPS": str(tmp_path / "never")}
    with grouped_app(folder, log=settings, of_http=[{"STOPS": str(tmp_path / "stops")}]) as app:
        yield app


def state_of(pid: int) -> str:
    """Return the state of a process, `T` for one that is stopped."""
    return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]


def frozen(app: GroupedApp, stops: Path, path: str, body: dict[str, Any], thread_id: str) -> httpx.Response:
    """Return the answer of the first host, which was stopped behind its signal until the thread's runs had ended."""
    stops.touch()
    first, pid = app.http[0].origin, app.http[0].running.process.pid
    with ThreadPoolExecutor(1) as pool:
        asking = pool.submit(httpx.post, first + path, json=body, timeout=GUARD_SECONDS)
        try:
            end = time.monotonic() + GUARD_SECONDS
            while stops.exists() or state_of(pid) != "T" or not has_ended(app, thread_id):
                assert time.monotonic() < end, "the host did not stop, or its run did not end without it"
                time.sleep(0.02)
        finally:
            os.kill(pid, signal.SIGCONT)
        return asking.result()


def has_ended(app: GroupedApp, thread_id: str) -> bool:
    """Return whether all runs of the thread have ended, by the second host."""
    listed = httpx.get(f"{app.http[1].origin}/api/agents/Clerk/threads/{thread_id}/runs", timeout=GUARD_SECONDS).json()
    return all(run["status"] == "success" for run in listed.get("runs", [{"status": "none"}]))


@pytest.mark.parametrize("waits", [True, False])
def test_a_run_that_ended_while_its_host_was_stopped_is_answered(app: GroupedApp, tmp_path: Path, waits: bool) -> None:
    """With its answer, and it is the one run of its thread."""
    thread_id = new_id()
    body = {"message": "hi", "thread_id": thread_id, "wait_for_response": waits}

    answer = frozen(app, tmp_path / "stops", "/api/agents/Clerk/run", body, thread_id)

    listed = httpx.get(f"{app.origin}/api/agents/Clerk/threads/{thread_id}/runs", timeout=GUARD_SECONDS).json()["runs"]
    assert (answer.status_code, answer.json()["status"]) == (200, "success") if waits else (202, "success")
    assert [run["run_id"] for run in listed] == [answer.json()["run_id"]]
