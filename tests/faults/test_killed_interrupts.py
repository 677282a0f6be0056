"""A run that another process interrupts or rolls back while it speaks, and whose process is killed by SIGKILL."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest

from hosting.names import new_id
from tests.support.event_stream import parse
from tests.support.grouped_app import grouped_app
from tests.support.running_host import ROOT

pytestmark = pytest.mark.slow

GUARD_SECONDS = 60.0
RUN = "/api/agents/Storm/run"
THREADS = "/api/agents/Storm/threads"
SPEAKS = "speak 2000 word"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The app of the agent that does as it is told."""
    shutil.copy(Path(__file__).parent / "storm_app" / "function_app.py", tmp_path)
    shutil.copy(ROOT / "host.json", tmp_path)
    return tmp_path


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


async def second_of(origin: str, thread_id: str, busy: str) -> dict[str, Any]:
    """Return the answer to a request that takes the place of what works on the thread."""
    async with httpx.AsyncClient(base_url=origin, timeout=GUARD_SECONDS) as http:
        answer = await http.post(RUN, json={"message": "recall", "thread_id": thread_id, "busy": busy})
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


@pytest.mark.behaviour("turn.busy-takes-over")
@pytest.mark.parametrize("is_killed", [False, True], ids=["lives", "killed"])
@pytest.mark.parametrize("busy", ["interrupt", "rollback"])
async def test_the_words_of_a_run_are_kept_or_gone_whether_its_process_lives_or_not(
    folder: Path, log_settings: dict[str, str], busy: str, is_killed: bool
) -> None:
    """The other process begins the next run once the first has ended, and its agent sees what is kept of that."""
    environ = {**log_settings, "CHARGES": str(folder / "charges.txt"), "LEASE_SECONDS": "1"}
    thread_id = new_id()  # the log is that of all tests
    with grouped_app(folder, log=environ) as app:
        one, two = app.http
        async with (
            httpx.AsyncClient(base_url=one.origin, timeout=GUARD_SECONDS) as http,
            speaking(http, thread_id) as first,
        ):
            if is_killed:
                one.kill()
            second = await asyncio.wait_for(second_of(two.origin, thread_id, busy), GUARD_SECONDS)
        async with httpx.AsyncClient(base_url=two.origin, timeout=GUARD_SECONDS) as http:
            run = (await http.get(f"{THREADS}/{thread_id}/runs/{first}")).json()
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
