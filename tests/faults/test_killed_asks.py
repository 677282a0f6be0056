"""A tool that asks a person, under SIGKILL: a real host killed around each record of it, over each log."""

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

ASKER = SOURCE.replace("clerk(note)", "asker(note)").replace("support.clerk import clerk", "support.asker import asker")
VALUES = {"Which street?": "Elm", "Which number in Elm?": 3}
POINTS = [
    "after 6",
    "after 2",
    "after 4",
    "before 5",
    "after 5",
    "before 6",
    "before 8",
    "after 8",
    "after 9",
    "after 11",
]


async def answer_all(http: httpx.AsyncClient, thread_id: str) -> None:
    """Answer whatever the thread asks."""
    thread = f"/api/agents/Clerk/threads/{thread_id}"
    for asked in (await http.get(f"{thread}/approvals")).json().get("approvals", []):
        await http.post(f"{thread}/approvals/{asked['id']}", json={"value": VALUES[asked["question"]]})


async def last_answer(http: httpx.AsyncClient, thread_id: str) -> str:
    """Answer what is still asked, and return the answer of the run that went on."""
    thread = f"/api/agents/Clerk/threads/{thread_id}"
    while True:
        await answer_all(http, thread_id)
        for run in (await http.get(f"{thread}/runs")).json().get("runs", []):
            answer: dict[str, Any] = (await http.get(f"{thread}/runs/{run['run_id']}")).json()
            assert answer["status"] not in ("failed", "timed_out"), answer
            if answer["status"] == "success" and "pending_approvals" not in answer:
                return str(answer["response"])
        await asyncio.sleep(0.02)


async def code_of_end(http: httpx.AsyncClient, thread: str) -> str:
    """Return why the thread's run failed, once it has."""
    while True:
        (run,) = (await http.get(f"{thread}/runs")).json()["runs"]
        end = (await http.get(f"{thread}/runs/{run['run_id']}")).json()
        if end["status"] == "failed":
            return str(end["error"]["code"])
        await asyncio.sleep(0.02)


@pytest.mark.behaviour("asks.survives-kill")
@pytest.mark.parametrize("stores", kept_in(*KINDS), indirect=["stores"])
async def test_a_step_that_was_cut_off_is_not_made_again_and_the_run_ends_by_it(
    tmp_path: Path, stores: dict[str, str]
) -> None:
    """Append 4 has its result: nobody knows whether it did its work."""
    app, thread_id = ClerksApp(tmp_path, stores, ASKER), new_id()
    thread = f"/api/agents/Clerk/threads/{thread_id}"
    with app.host(KILL="before 4") as host:
        async with httpx.AsyncClient(base_url=host.origin, timeout=GUARD_SECONDS) as http:
            with contextlib.suppress(httpx.TransportError):
                await http.post("/api/agents/Clerk/run", json={"message": "call ship 5", "thread_id": thread_id})
        assert await until_dead(host) != 0

    with app.host() as host:
        async with httpx.AsyncClient(base_url=host.origin, timeout=4 * GUARD_SECONDS) as http:
            code = await asyncio.wait_for(code_of_end(http, thread), 4 * GUARD_SECONDS)

    assert (code, app.said()) == ("run_interrupted", ["reserve 5"])


@pytest.mark.behaviour("asks.survives-kill")
@pytest.mark.parametrize(("point", "stores"), kept_in(*KINDS, first=POINTS[0], rest=POINTS[1:]), indirect=["stores"])
async def test_a_host_killed_around_a_question_asks_once_and_makes_the_step_once(
    tmp_path: Path, point: str, stores: dict[str, str]
) -> None:
    """Appends: 2 begins the call, 3 and 4 its step, 5 has the question, 6 the answer; the same again for the second."""
    app, thread_id = ClerksApp(tmp_path, stores, ASKER), new_id()
    with app.host(KILL=point) as host:
        async with httpx.AsyncClient(base_url=host.origin, timeout=GUARD_SECONDS) as http:
            with contextlib.suppress(httpx.TransportError):
                await http.post("/api/agents/Clerk/run", json={"message": "call ship 5", "thread_id": thread_id})
                await answer_all(http, thread_id)
                await answer_all(http, thread_id)
        assert await until_dead(host) != 0

    with app.host() as host:
        async with httpx.AsyncClient(base_url=host.origin, timeout=GUARD_SECONDS) as http:
            answer = await asyncio.wait_for(last_answer(http, thread_id), 4 * GUARD_SECONDS)

    assert (answer, app.said()) == ("told: 5 from shelf of 5 to Elm 3", ["reserve 5"])
