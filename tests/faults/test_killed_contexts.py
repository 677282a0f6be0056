"""The context of a run under SIGKILL: a real host killed around each record, and another that reads the same."""

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
from tests.faults.killing_app import SOURCE, ClerksApp
from tests.support.carriers import GUARD_SECONDS
from tests.support.kept_in import KINDS, kept_in

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="the app kills itself by SIGKILL"),
]

APP = SOURCE.replace("support.clerk import clerk", "support.context_reader import context_reader").replace(
    "clerk(note)", "context_reader(note)"
)
CONTEXT = {"tenant": "a", "limits": {"refund": 50}}
SHOWN = json.dumps(CONTEXT, sort_keys=True)
ASKED = {
    "message": "call show 1",
    "context": CONTEXT,
    "metadata": {"ticket": 7},
    "thread_metadata": {"team": "red"},
}
PATH = "/api/agents/Clerk"

# Appends: 1 begins the run, 2 records the model's call of the tool, 3 ends the run.
POINTS = ["after 1", "before 1", "before 2", "after 2", "before 3", "after 3"]


async def asked(http: httpx.AsyncClient, key: str) -> httpx.Response:
    """Ask with a context, under a key by which the run is found again."""
    return await http.post(f"{PATH}/run", json={**ASKED, "thread_id": key}, headers={"idempotency-key": key})


@pytest.mark.behaviour("context.survives-kill")
@pytest.mark.parametrize(("point", "stores"), kept_in(*KINDS, first=POINTS[0], rest=POINTS[1:]), indirect=["stores"])
async def test_the_process_that_takes_over_a_run_gives_its_code_the_same_context(
    tmp_path: Path, point: str, stores: dict[str, str]
) -> None:
    """The run is one, and so is the change of the thread's metadata that came with it."""
    app, key = ClerksApp(tmp_path, stores, APP), new_id()
    with app.host(KILL=point) as host:
        async with httpx.AsyncClient(base_url=host.origin, timeout=GUARD_SECONDS) as http:
            with contextlib.suppress(httpx.TransportError):
                await asked(http, key)
        assert await until_dead(host) != 0
    read_before = len(app.said())

    with app.host() as host:
        async with httpx.AsyncClient(base_url=host.origin, timeout=4 * GUARD_SECONDS) as http:
            answer = await asyncio.wait_for(asked(http, key), 4 * GUARD_SECONDS)
            thread = (await http.get(f"{PATH}/threads/{key}")).json()
            runs = (await http.get(f"{PATH}/threads/{key}/runs")).json()["runs"]

    readers = [line for line in app.said() if not line.startswith("model ")]
    assert answer.status_code == 200, answer.text
    assert "shown 1" in answer.json()["response"]
    assert {line.partition(" ")[2] for line in readers} == {SHOWN}
    assert {"tool", "provider", "middleware"} <= {line.partition(" ")[0] for line in readers}
    assert point == "after 3" or any(not line.startswith("model ") for line in app.said()[read_before:])
    assert [(run["status"], run["metadata"]) for run in runs] == [("success", {"ticket": 7})]
    assert thread["metadata"] == {"team": "red"}
