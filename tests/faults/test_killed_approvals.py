"""Approvals under SIGKILL: a real host killed around each record that an approval makes, over each log."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
from pathlib import Path

import httpx
import pytest

from hosting.names import new_id
from tests.faults.app_process import until_dead
from tests.support.app_folder import make_app
from tests.support.carriers import APP, GUARD_SECONDS
from tests.support.kept_in import KINDS, kept_in
from tests.support.running_host import RunningHost

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="the app kills itself by SIGKILL"),
]

HOST = json.loads((APP / "host.json").read_text(encoding="utf-8"))
# Appends: 1 and 2 the run that asks, 3 the answer with the run that goes on, 4 to 7 that run (6: the tool's result).
POINTS = ["after 3", "after 2", "before 3", "after 6"]
SOURCE = '''
import os, signal
from functools import partial
from pathlib import Path

import hosting.app
from tests.support.clerk import clerk

NOTES = Path(os.environ["NOTES"])


class KillingStore:
    """A store whose process dies around its n-th write; what it does otherwise is the real store's."""

    def __init__(self, store):
        self._store, self._writes = store, 0

    def __getattr__(self, name):
        return getattr(self._store, name)

    def _die(self, side):
        if os.environ.get("KILL") == f"{side} {self._writes}":
            os.kill(os.getpid(), signal.SIGKILL)

    async def _write(self, write):
        self._writes += 1
        self._die("before")
        result = await write
        self._die("after")
        return result

    async def append(self, *arguments, **named):
        return await self._write(self._store.append(*arguments, **named))


def note(what):
    with NOTES.open("a", encoding="utf-8") as notes:
        notes.write(what + "\\n")


choose = hosting.stores.choice.choose_thread_store
hosting.stores.choice.choose_thread_store = lambda *arguments: KillingStore(choose(*arguments))
hosting.app.Services = partial(hosting.app.Services, lease_seconds=1.0, margin_seconds=0.5)
app = hosting.app.AgentFunctionApp(agents=[clerk(note)])
'''


class ClerksApp:
    """The clerk's app in a folder, over one log; its tools note what they did."""

    def __init__(self, folder: Path, log: dict[str, str]) -> None:
        self._notes = folder / "notes.txt"
        self._notes.touch()
        self._environ = {**log, "NOTES": str(self._notes)}
        (folder / "app").mkdir()
        self.path = make_app(folder / "app", SOURCE, host=HOST)

    def host(self, **environ: str) -> RunningHost:
        """Start a host of the app."""
        return RunningHost(self.path, environ={**self._environ, **environ})

    def notes(self) -> list[str]:
        """Return what the tools did in all processes."""
        return [line.split()[0] for line in self._notes.read_text(encoding="utf-8").splitlines()]


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
