"""Time to live on the local host: the timer, the engine's list of entities and the entity, all as they are."""

import asyncio
import shutil
from pathlib import Path

import httpx
import pytest

from tests.support.carriers import APP, GUARD_SECONDS, socket_api
from tests.support.running_host import RunningHost

THREAD = "/api/agents/Joker/threads/brief"


@pytest.mark.slow
@pytest.mark.behaviour("erasure.sweep")
async def test_the_timer_deletes_a_thread_whose_time_is_up(tmp_path: Path) -> None:
    """It shows when that will be, and nothing of it is left after."""
    folder = shutil.copytree(APP, tmp_path / "app")
    with RunningHost(folder, environ={"AGENT_THREAD_TTL_SECONDS": "0.5"}) as host:
        api = socket_api(host.origin, folder / ".agents" / "runs.sqlite")
        async with api.http:
            await api.ask("hi", thread_id="brief")
            await api.entries("brief")
            expires_at = (await api.http.get(THREAD)).json()["expires_at"]

            await asyncio.wait_for(swept(api.http), GUARD_SECONDS)

            assert expires_at.endswith("Z")
            assert await api.states() == {}


async def swept(http: httpx.AsyncClient) -> None:
    """Have the timer run until the thread is gone."""
    while (await http.get(THREAD)).status_code != 404:
        assert (await http.post("/admin/functions/agents_sweep", json={})).status_code == 202
