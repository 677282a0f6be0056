"""Time to live on the local host: the timer, the engine's list of entities and the entity, all as they are."""

import asyncio
import shutil
from pathlib import Path

import httpx
import pytest

from tests.support.carriers import APP, GUARD_SECONDS, Api, socket_api
from tests.support.running_host import RunningHost

THREAD = "/api/agents/Joker/threads/brief"


@pytest.mark.slow
@pytest.mark.behaviour("erasure.sweep")
async def test_the_timer_deletes_a_thread_whose_time_is_up(tmp_path: Path) -> None:
    """It shows when that will be, and nothing of it is left after."""
    folder = shutil.copytree(APP, tmp_path / "app")
    with RunningHost(folder, environ={"AGENT_THREAD_TTL_SECONDS": "0.5"}) as host:
        api = socket_api(host.origin, folder / ".agents" / "log.sqlite")
        async with api.http:
            await api.ask("hi", thread_id="brief")
            await api.entries("brief")
            expires_at = (await api.http.get(THREAD)).json()["expires_at"]

            await asyncio.wait_for(swept(api.http), GUARD_SECONDS)

            assert expires_at.endswith("Z")
            await asyncio.wait_for(emptied(api), GUARD_SECONDS)


async def emptied(api: Api) -> None:
    """Return once no conversation is stored any more."""
    while await api.threads():  # noqa: ASYNC110 - another process removes it
        await asyncio.sleep(0.01)


async def swept(http: httpx.AsyncClient) -> None:
    """Have the timer run until the thread is gone."""
    while (await http.get(THREAD)).status_code != 404:
        assert (await http.post("/admin/functions/agents_sweep", json={})).status_code == 202
