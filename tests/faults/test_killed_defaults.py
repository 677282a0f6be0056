"""A question with a default, under SIGKILL: the run goes on by it once, and nobody has to ask or answer."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest

from hosting.names import new_id
from tests.faults.app_process import until_dead
from tests.faults.killing_app import SOURCE, ClerksApp
from tests.support.carriers import GUARD_SECONDS
from tests.support.kept_in import KINDS, explored, kept_in

pytestmark = [
    pytest.mark.slow,
    pytest.mark.behaviour("asks.default"),
    pytest.mark.skipif(sys.platform == "win32", reason="the app kills itself by SIGKILL"),
]

HURRIED = SOURCE.replace("clerk(note)", "hurried(note)").replace(
    "support.clerk import clerk", "support.asker import hurried"
)
LAST = ("KILL", "after 4")
"""Append 3 has the question, 4 its default with the run that goes on, 5 the repeated call, and 6 its result."""
APPENDS = [("KILL", point) for point in ("before 3", "before 4", "after 5")]
COMMITS = [("DEVHOST_CRASH_AT", point) for point in ("after-entity:2", "before-commit:3", "before-commit:4")]
"""Of the engine: the end of the run with the signal for the clock, the start of that, its order, and its removal."""
MORE_APPENDS = [("KILL", point) for point in ("after 3", "before 6", "after 6")]
MORE_COMMITS = [
    ("DEVHOST_CRASH_AT", f"{side}:{number}") for number in (3, 4, 5) for side in ("after-entity", "after-commit")
]


async def ends(http: httpx.AsyncClient, thread: str) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the runs of the thread and the answers to its question, once it has gone on and no clock is left."""
    while True:
        listed = (await http.get(f"{thread}/runs")).json().get("runs", [])
        instances = (await http.get("/runtime/webhooks/durabletask/instances")).json()
        are_over = len(listed) > 1 and all(run["status"] == "success" for run in listed)
        if are_over and not any(one["instanceId"].startswith("pause!") for one in instances):
            break
        await asyncio.sleep(0.05)
    runs = [(await http.get(f"{thread}/runs/{run['run_id']}")).json() for run in listed]
    timelines = [(await http.get(f"{thread}/runs/{run['run_id']}/timeline")).json() for run in listed]
    answers = [step for one in timelines for step in one["steps"] if step["kind"] == "approval_answered"]
    return runs, answers


@pytest.mark.parametrize(
    ("point", "stores"),
    [
        *kept_in(*KINDS, first=(LAST,), rest=[(point,) for point in (*APPENDS, *COMMITS)]),
        *explored(*MORE_APPENDS, *MORE_COMMITS),
    ],
    indirect=["stores"],
)
async def test_a_kill_keeps_no_run_from_going_on_by_its_default_and_it_does_once(
    tmp_path: Path, point: tuple[str, str], stores: dict[str, str]
) -> None:
    """Whoever comes next finds what was done, and does the rest."""
    app, thread_id = ClerksApp(tmp_path, stores, HURRIED), new_id()
    thread = f"/api/agents/Clerk/threads/{thread_id}"
    with app.host(**dict([point])) as host:
        async with httpx.AsyncClient(base_url=host.origin, timeout=GUARD_SECONDS) as http:
            with contextlib.suppress(httpx.TransportError):
                await http.post("/api/agents/Clerk/run", json={"message": "call ship 5", "thread_id": thread_id})
        assert await until_dead(host) != 0

    with app.host() as host:
        async with httpx.AsyncClient(base_url=host.origin, timeout=GUARD_SECONDS) as http:
            runs, answers = await asyncio.wait_for(ends(http, thread), 6 * GUARD_SECONDS)

    assert [run["response"] for run in runs if "pending_approvals" not in run] == ["told: 5 to the depot"]
    assert [(answer["value"], answer["default"]) for answer in answers] == [("the depot", True)]
    assert len(runs) == 2
