"""Two hosts that read their log once a minute by themselves: its store wakes each when the other ends a run."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import httpx
import pytest

from tests.support.app_folder import make_app
from tests.support.carriers import APP
from tests.support.running_host import RunningHost

pytestmark = [pytest.mark.slow, pytest.mark.parametrize("stores", ["sqlite", "redis"], indirect=True)]

GUARD_SECONDS = 20.0
"""Less than the minute after which they read by themselves."""
RUN, THREADS = "/api/agents/timed/run", "/api/agents/timed/threads"
SOURCE = """
import hosting.app
from benchmarks.app.timed_model import timed_agent
from hosting.core.care import Care, Pace
from hosting.core.thread_operations import ThreadOperations

Care.__init__.__kwdefaults__["pace"] = ThreadOperations.__init__.__kwdefaults__["pace"] = Pace(0.05, 1200.0, 60.0)
app = hosting.app.AgentFunctionApp(agents=[timed_agent()])
"""


@pytest.mark.behaviour("service.woken")
@pytest.mark.behaviour("service.waits-elsewhere")
async def test_whoever_watches_another_hosts_run_learns_of_its_end_at_once(
    tmp_path: Path, stores: dict[str, str]
) -> None:
    """The one that waits for it, the one that streams it, and the entity whose next run is queued behind it."""
    folders = [tmp_path / name for name in ("one", "two")]
    for folder in folders:
        folder.mkdir()
        make_app(folder, SOURCE, host=json.loads((APP / "host.json").read_text(encoding="utf-8")))
    if stores["AGENT_LOG"].startswith("sqlite"):
        stores["AGENT_LOG"] = f"sqlite:{tmp_path / 'log.sqlite'}"
    with RunningHost(folders[0], environ=stores) as one, RunningHost(folders[1], environ=stores) as two:
        async with (
            httpx.AsyncClient(base_url=one.origin, timeout=GUARD_SECONDS) as here,
            httpx.AsyncClient(base_url=two.origin, timeout=GUARD_SECONDS) as there,
        ):
            body, key = {"message": "wait 2", "thread_id": "t"}, {"idempotency-key": "k"}
            holding = asyncio.ensure_future(here.post(RUN, json=body, headers=key))
            run = await asyncio.wait_for(until_running(there), GUARD_SECONDS)
            waiting = asyncio.ensure_future(there.post(RUN, json=body, headers=key))
            streaming = asyncio.ensure_future(
                there.get(f"{THREADS}/t/runs/{run}/events", headers={"accept": "text/event-stream"})
            )
            later = {"message": "later", "thread_id": "t", "wait_for_response": False}
            queued = (await there.post(RUN, json=later)).json()["run_id"]

            answers = await asyncio.wait_for(asyncio.gather(holding, waiting, streaming), GUARD_SECONDS)
            ended = await asyncio.wait_for(until_ended(there, queued), GUARD_SECONDS)

    held, waited, streamed = answers
    assert (held.status_code, waited.json()) == (200, held.json())
    assert "event: completed" in streamed.text
    assert ended == "success"


async def until_running(api: httpx.AsyncClient) -> str:
    """Return the id of the thread's run once it is executed."""
    while True:
        runs = (await api.get(f"{THREADS}/t/runs")).json().get("runs", [])
        if runs and runs[0]["status"] == "running":
            return str(runs[0]["run_id"])


async def until_ended(api: httpx.AsyncClient, run_id: str) -> str:
    while (status := (await api.get(f"{THREADS}/t/runs/{run_id}")).json()["status"]) in (
        "accepted",
        "queued",
        "running",
    ):
        pass
    return str(status)
