"""Processes of one app whose logs are different files because a setting was forgotten, and others that share one."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

import httpx
import pytest

from packages.durable_agent_host.checks.running import not_ready
from tests.support.carriers import APP, GUARD_SECONDS
from tests.support.grouped_app import GroupedApp, grouped_app

pytestmark = [pytest.mark.slow, pytest.mark.behaviour("hosting.one-store")]

UNSEEN = "is not in this instance's log"
REFUSED = (
    "Instances of this app keep their threads in different stores, so one instance cannot see the runs of another. "
    "Give all of them the same AGENT_LOG, and the same storage account where it is 'tables'."
)


def accept(app: GroupedApp) -> None:
    """Have a run accepted that nobody waits for."""
    body = {"message": "hello", "thread_id": "t", "wait_for_response": False}
    answer = httpx.post(f"{app.origin}/api/agents/Joker/run", json=body, timeout=GUARD_SECONDS)
    assert answer.status_code == 202


def ready(app: GroupedApp) -> httpx.Response:
    """Return what `health/ready` says."""
    return httpx.get(f"{app.origin}/api/health/ready", timeout=GUARD_SECONDS)


def test_a_forgotten_setting_is_found_before_and_after_a_run_is_accepted(tmp_path: Path) -> None:
    """By readiness, by what the command `check` asks, and by the log of the process that has the run's entity."""
    folder = shutil.copytree(APP, tmp_path / "app")
    forgotten = {"AGENT_LOG": f"sqlite:{tmp_path / 'other.sqlite'}"}
    with grouped_app(folder, http=1, log={}, of_http=[forgotten]) as app:
        end = time.monotonic() + 2 * GUARD_SECONDS
        while (answer := ready(app)).status_code == 200:
            assert time.monotonic() < end
        found = list(not_ready(app.origin))
        accept(app)
        line = app.durable.running.wait_for(UNSEEN, 2 * GUARD_SECONDS)

    assert (answer.status_code, answer.json()["code"], answer.json()["detail"]) == (503, "stores_differ", REFUSED)
    assert found == [(f"{app.origin}/api/health/ready", REFUSED)]
    assert " of thread t of agent joker " in line
