"""A tool that waits for the user's sign-in, under SIGKILL: a real host killed around each record, over each log."""

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
    pytest.mark.behaviour("authorizations.survives-kill"),
    pytest.mark.skipif(sys.platform == "win32", reason="the app kills itself by SIGKILL"),
]

SIGNER = SOURCE.replace("clerk(note)", "signer(note)").replace(
    "support.clerk import clerk", "support.signer import signer"
)
POINTS = [
    "after 6",
    "after 2",
    "after 4",
    "before 5",
    "after 5",
    "before 6",
    "before 7",
    "after 7",
    "before 8",
    "after 8",
]


async def sign_in(http: httpx.AsyncClient, thread: str) -> None:
    """Say of each sign-in that waits that it is made."""
    for asked in (await http.get(f"{thread}/approvals")).json().get("approvals", []):
        assert asked["kind"] == "authorization"
        await http.post(f"{thread}/approvals/{asked['id']}", json={"approved": True})


async def last_answer(http: httpx.AsyncClient, thread: str) -> tuple[str, int]:
    """Sign in where it is asked for still; return the answer of the run that went on, and the number of runs."""
    while True:
        await sign_in(http, thread)
        runs = (await http.get(f"{thread}/runs")).json().get("runs", [])
        for run in runs:
            answer: dict[str, Any] = (await http.get(f"{thread}/runs/{run['run_id']}")).json()
            assert answer["status"] not in ("failed", "timed_out"), answer
            if answer["status"] == "success" and "pending_approvals" not in answer:
                return str(answer["response"]), len(runs)
        await asyncio.sleep(0.02)


@pytest.mark.parametrize(("point", "stores"), kept_in(*KINDS, first=POINTS[0], rest=POINTS[1:]), indirect=["stores"])
async def test_a_host_killed_around_a_sign_in_asks_once_and_makes_the_step_once(
    tmp_path: Path, point: str, stores: dict[str, str]
) -> None:
    """Appends: 2 begins the call, 3 and 4 its step, 5 has the sign-in, 6 its answer, 7 and 8 the repeated call."""
    app, thread = ClerksApp(tmp_path, stores, SIGNER), f"/api/agents/Clerk/threads/{(thread_id := new_id())}"
    with app.host(KILL=point) as host:
        async with httpx.AsyncClient(base_url=host.origin, timeout=GUARD_SECONDS) as http:
            with contextlib.suppress(httpx.TransportError):
                await http.post("/api/agents/Clerk/run", json={"message": "call push 5", "thread_id": thread_id})
                await sign_in(http, thread)
        assert await until_dead(host) != 0

    with app.host() as host:
        async with httpx.AsyncClient(base_url=host.origin, timeout=GUARD_SECONDS) as http:
            answer, runs = await asyncio.wait_for(last_answer(http, thread), 4 * GUARD_SECONDS)

    assert (answer, runs) == ("told: branch 5 pushed by the app", 2)
    assert (app.said().count("reserve 5"), set(app.said())) == (1, {"reserve 5", "push 5"})
