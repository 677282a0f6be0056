"""A run whose signal an older instance lost, and whose process is killed behind its answer: the sweep finds it."""

from __future__ import annotations

import time
from pathlib import Path

import httpx
import pytest

from devhost.durable.unkind import VARIABLE
from tests.faults.killing_app import ClerksApp
from tests.support.kept_in import over

pytestmark = [pytest.mark.slow, pytest.mark.behaviour("service.promised"), over("log_settings", "sqlite", "tables")]

GUARD_SECONDS = 60.0
SOURCE = """
import os
from functools import partial
from pathlib import Path

import hosting.app
import hosting.core.promised_runs as promised_runs
from tests.support.clerk import clerk

NOTES = Path(os.environ["NOTES"])


def note(what):
    with NOTES.open("a", encoding="utf-8") as notes:
        notes.write(what + "\\n")


promised_runs.SWEPT_SECONDS = -60.0  # no mark is too young
app = hosting.app.AgentFunctionApp(agents=[clerk(note)])
"""


def test_a_run_that_was_answered_by_a_process_that_is_gone_is_found(
    tmp_path: Path, log_settings: dict[str, str]
) -> None:
    """Nobody asks for it but the timer."""
    app = ClerksApp(tmp_path, log_settings, SOURCE)
    with app.host(**{VARIABLE: "lost-operation @dafx-clerk@t 1"}) as host:
        body = {"message": "hi", "thread_id": "t", "wait_for_response": False}
        answer = httpx.post(f"{host.origin}/api/agents/Clerk/run", json=body, timeout=GUARD_SECONDS)
        host.wait_for(f"{VARIABLE}: lost-operation strikes", GUARD_SECONDS)
        until_committed(host.origin)

    with app.host() as host:
        timer = f"{host.origin}/admin/functions/agents_promises"
        assert statuses(host.origin) == [(answer.json()["run_id"], "accepted")]
        assert httpx.post(timer, json={}, timeout=GUARD_SECONDS).status_code == 202
        end = time.monotonic() + GUARD_SECONDS
        while statuses(host.origin) != [(answer.json()["run_id"], "success")]:
            assert time.monotonic() < end, statuses(host.origin)
            time.sleep(0.02)


def until_committed(origin: str) -> None:
    """Return once the engine has written the entity that the signal was for: until then a kill leaves the signal."""
    entity, end = f"{origin}/runtime/webhooks/durabletask/entities/dafx-clerk/t", time.monotonic() + GUARD_SECONDS
    while httpx.get(entity, timeout=GUARD_SECONDS).status_code != 200:
        assert time.monotonic() < end, "the lost signal is still there"
        time.sleep(0.02)


def statuses(origin: str) -> list[tuple[str, str]]:
    """Return the runs of the thread with how they stand; to list them signals for none."""
    runs = httpx.get(f"{origin}/api/agents/Clerk/threads/t/runs", timeout=GUARD_SECONDS).json()["runs"]
    return [(run["run_id"], run["status"]) for run in runs]
