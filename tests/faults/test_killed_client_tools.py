"""Tools of the caller under SIGKILL: a real host killed around each record of call, result and end, over each log."""

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
from tests.support.kept_in import KINDS, kept_in

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="the app kills itself by SIGKILL"),
]

OPEN = SOURCE.replace("agents=[clerk(note)]", "client_tools=True, agents=[clerk(note)]")
WHERE = {"name": "where", "parameters": {"type": "object", "properties": {"n": {"type": "string"}}}}

# Appends: 1 and 2 the run that calls, 3 the result with the run that goes on, 4 to 6 that run. A kill after 4 would cut
# the app's own tool off, which ends a run (tests/faults/test_killed_steps.py).
POINTS = ["after 3", "before 1", "after 1", "before 2", "after 2", "before 3", "before 4", "after 5", "before 6"]


async def call_and_answer(http: httpx.AsyncClient, thread_id: str) -> None:
    """Ask for a call of the caller's tool beside one of the app's, and send its result."""
    body = {"message": "call where 1, look 2", "thread_id": thread_id, "client_tools": [WHERE]}
    await http.post("/api/agents/Clerk/run", json=body, headers={"idempotency-key": thread_id})
    await answer_all(http, thread_id)


async def answer_all(http: httpx.AsyncClient, thread_id: str) -> None:
    """Send the result of whatever the thread waits for."""
    thread = f"/api/agents/Clerk/threads/{thread_id}"
    for call in (await http.get(f"{thread}/approvals")).json().get("approvals", []):
        assert call["kind"] == "client_tool"
        await http.post(f"{thread}/approvals/{call['id']}", json={"value": "here"})


async def last_answer(http: httpx.AsyncClient, thread_id: str) -> dict[str, Any]:
    """Do again what was cut off, and return the answer of the run that went on."""
    thread = f"/api/agents/Clerk/threads/{thread_id}"
    await call_and_answer(http, thread_id)
    while True:
        await answer_all(http, thread_id)
        for run in (await http.get(f"{thread}/runs")).json().get("runs", []):
            answer = (await http.get(f"{thread}/runs/{run['run_id']}")).json()
            if answer["status"] == "success" and "pending_approvals" not in answer:
                return dict(answer)
        await asyncio.sleep(0.02)


@pytest.mark.behaviour("client-tools.survives-kill")
@pytest.mark.parametrize(("point", "stores"), kept_in(*KINDS, first=POINTS[0], rest=POINTS[1:]), indirect=["stores"])
async def test_a_host_killed_around_a_callers_tool_loses_neither_call_nor_result(
    tmp_path: Path, point: str, stores: dict[str, str]
) -> None:
    """The caller repeats what got no answer; another process goes on with the result, and the app's tool runs once."""
    app, thread_id = ClerksApp(tmp_path, stores, OPEN), new_id()
    with app.host(KILL=point) as host:
        async with httpx.AsyncClient(base_url=host.origin, timeout=GUARD_SECONDS) as http:
            with contextlib.suppress(httpx.TransportError):
                await call_and_answer(http, thread_id)
        assert await until_dead(host) != 0

    with app.host() as host:
        async with httpx.AsyncClient(base_url=host.origin, timeout=GUARD_SECONDS) as http:
            answer = await asyncio.wait_for(last_answer(http, thread_id), 4 * GUARD_SECONDS)
            runs = (await http.get(f"/api/agents/Clerk/threads/{thread_id}/runs")).json()["runs"]

    assert (answer["response"], app.notes()) == ("told: here | saw 2", ["look"])
    assert [run["status"] for run in runs] == ["success", "success"]
