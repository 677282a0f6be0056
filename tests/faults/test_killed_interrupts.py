"""A run that another process interrupts or rolls back while it speaks, and whose process is killed by SIGKILL."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest

from hosting.names import new_id
from tests.support.event_stream import parse
from tests.support.grouped_app import GroupedApp, grouped_app
from tests.support.kept_in import over
from tests.support.running_host import ROOT

pytestmark = [pytest.mark.slow, over("log_settings", "sqlite")]

GUARD_SECONDS = 60.0
RUN = "/api/agents/Storm/run"
THREADS = "/api/agents/Storm/threads"
SPEAKS = "speak 2000 word"


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory, log_settings: dict[str, str]) -> Iterator[GroupedApp]:
    """The hosts of the agent that does as it is told; a test starts again those that it kills."""
    folder = tmp_path_factory.mktemp("interrupts")
    shutil.copy(Path(__file__).parent / "storm_app" / "function_app.py", folder)
    shutil.copy(ROOT / "host.json", folder)
    environ = {**log_settings, "CHARGES": str(folder / "charges.txt"), "LEASE_SECONDS": "1"}
    with grouped_app(folder, log=environ) as hosts:
        yield hosts


@asynccontextmanager
async def speaking(http: httpx.AsyncClient, thread_id: str) -> AsyncIterator[str]:
    """Have a run speak, and give its id once some of its words were read."""
    body = {"message": SPEAKS, "thread_id": thread_id, "stream": True}
    with suppress(httpx.TransportError):  # its process may be killed
        async with http.stream("POST", RUN, json=body) as answer:
            got = ""
            async for piece in answer.aiter_text():
                got += piece
                if "word-20" in got:
                    break
            yield str(parse(got)[0].fields["run_id"])


def request(thread_id: str, busy: str, *, waits: bool = True) -> dict[str, Any]:
    """Return a request that takes the place of what works on the thread."""
    return {"message": "recall", "thread_id": thread_id, "busy": busy, "wait_for_response": waits}


async def ended(http: httpx.AsyncClient, thread_id: str, run_id: str) -> dict[str, Any]:
    while (answer := await http.get(f"{THREADS}/{thread_id}/runs/{run_id}")).status_code == 202:  # noqa: ASYNC110
        await asyncio.sleep(0.05)
    return dict(answer.json())


async def check(http: httpx.AsyncClient, thread_id: str, busy: str, first: str, second: dict[str, Any]) -> None:
    """Hold that what the second run was shown, and what the thread has, is what the policy keeps of the first."""
    run = await ended(http, thread_id, first)
    entries = (await http.get(f"{THREADS}/{thread_id}/messages")).json()["entries"]
    kept = [entry for entry in entries if entry["run_id"] == first]
    assert run["status"] == "cancelled"
    if busy == "rollback":
        assert (run["error"]["code"], kept, second["response"]) == ("run_rolled_back", [], '["recall"]')
    else:
        assert (run["error"]["code"], second["response"]) == ("run_superseded", f'["{SPEAKS}", "recall"]')
        assert [entry.get("status") for entry in kept] == [None, "interrupted"]
        words = kept[1]["messages"][0]["contents"][0]["text"].split()
        assert words == [f"word-{number}" for number in range(len(words))]
        assert 1 <= len(words) < 2000


@pytest.mark.behaviour("turn.busy-takes-over")
@pytest.mark.parametrize("is_killed", [False, True], ids=["lives", "killed"])
@pytest.mark.parametrize("busy", ["interrupt", "rollback"])
async def test_the_words_of_a_run_are_kept_or_gone_whether_its_process_lives_or_not(
    app: GroupedApp, busy: str, is_killed: bool
) -> None:
    """The other process begins the next run once the first has ended, and its agent sees what is kept of that."""
    thread_id = new_id()  # the log is that of all tests
    one, two = app.http
    async with (
        httpx.AsyncClient(base_url=one.origin, timeout=GUARD_SECONDS) as http,
        httpx.AsyncClient(base_url=two.origin, timeout=GUARD_SECONDS) as other,
    ):
        async with speaking(http, thread_id) as first:
            if is_killed:
                one.kill()
            answer = await asyncio.wait_for(other.post(RUN, json=request(thread_id, busy)), GUARD_SECONDS)
        assert answer.status_code == 200, answer.text
        await check(other, thread_id, busy, first, answer.json())
    if is_killed:
        one.start()


@pytest.mark.behaviour("turn.busy-takes-over")
@pytest.mark.parametrize("busy", ["interrupt", "rollback"])
async def test_the_next_run_begins_although_all_are_killed_between_its_acceptance_and_its_beginning(
    app: GroupedApp, busy: str
) -> None:
    """The run in the way has ended, and no process holds the next one."""
    thread_id = new_id()
    one, two = app.http
    app.durable.kill()
    async with (
        httpx.AsyncClient(base_url=one.origin, timeout=GUARD_SECONDS) as http,
        httpx.AsyncClient(base_url=two.origin, timeout=GUARD_SECONDS) as other,
        speaking(http, thread_id) as first,
    ):
        accepted = await other.post(RUN, json=request(thread_id, busy, waits=False))
        await asyncio.wait_for(ended(other, thread_id, first), GUARD_SECONDS)
        second = accepted.json()["run_id"]
        waiting = (await other.get(f"{THREADS}/{thread_id}/runs/{second}")).json()["status"]
        for host in app.http:
            host.kill()
    for host in (*app.workers, *app.http):
        host.start()
    async with httpx.AsyncClient(base_url=two.origin, timeout=GUARD_SECONDS) as other:
        outcome = await asyncio.wait_for(ended(other, thread_id, second), GUARD_SECONDS)
        await check(other, thread_id, busy, first, outcome)

    assert (accepted.status_code, waiting) == (202, "accepted")
