"""Approvals under SIGKILL: a real host killed around each record that an approval makes, over each log."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from pathlib import Path

import httpx
import pytest

from hosting.names import new_id
from tests.faults.app_process import until_dead
from tests.faults.killing_app import ClerksApp
from tests.support.carriers import GUARD_SECONDS
from tests.support.kept_in import KINDS, kept_in

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="the app kills itself by SIGKILL"),
]

# Appends: 1 and 2 the run that asks, 3 the answer with the run that goes on, 4 to 7 that run (6: the tool's result).
POINTS = ["after 3", "after 2", "before 3", "after 6"]


async def ask_and_approve(http: httpx.AsyncClient, thread_id: str) -> None:
    """Ask for what needs an approval, and give it."""
    await http.post("/api/agents/Clerk/run", json={"message": "call refund 5", "thread_id": thread_id})
    await approve_all(http, thread_id)


async def approve_all(http: httpx.AsyncClient, thread_id: str) -> None:
    """Approve whatever the thread waits for."""
    thread = f"/api/agents/Clerk/threads/{thread_id}"
    for approval in (await http.get(f"{thread}/approvals")).json().get("approvals", []):
        await http.post(f"{thread}/approvals/{approval['id']}", json={"approved": True})


async def last_answer(http: httpx.AsyncClient, thread_id: str) -> str:
    """Approve what still waits, and return the answer of the run that went on."""
    thread = f"/api/agents/Clerk/threads/{thread_id}"
    while True:
        await approve_all(http, thread_id)
        for run in (await http.get(f"{thread}/runs")).json().get("runs", []):
            answer = (await http.get(f"{thread}/runs/{run['run_id']}")).json()
            if answer["status"] == "success" and "pending_approvals" not in answer:
                return str(answer["response"])
        await asyncio.sleep(0.02)


@pytest.mark.behaviour("approvals.survives-kill")
@pytest.mark.parametrize(("point", "stores"), kept_in(*KINDS, first=POINTS[0], rest=POINTS[1:]), indirect=["stores"])
async def test_a_host_killed_around_an_approval_loses_neither_question_nor_answer(
    tmp_path: Path, point: str, stores: dict[str, str]
) -> None:
    """The run that is due is started by whoever looks, and the tool is called once."""
    app, thread_id = ClerksApp(tmp_path, stores), new_id()
    with app.host(KILL=point) as host:
        async with httpx.AsyncClient(base_url=host.origin, timeout=GUARD_SECONDS) as http:
            with contextlib.suppress(httpx.TransportError):
                await ask_and_approve(http, thread_id)
        assert await until_dead(host) != 0

    with app.host() as host:
        async with httpx.AsyncClient(base_url=host.origin, timeout=GUARD_SECONDS) as http:
            answer = await asyncio.wait_for(last_answer(http, thread_id), 4 * GUARD_SECONDS)

    assert (answer, app.notes()) == ("told: refunded 5", ["refund"])
