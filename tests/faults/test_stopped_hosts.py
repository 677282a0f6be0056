"""A run in a host that is told to stop while its agent thinks."""

from __future__ import annotations

import asyncio
import shutil
import signal
import sys
from pathlib import Path

import httpx
import pytest

from hosting.core.thread_log import ThreadLog
from hosting.host_settings import task_hub
from hosting.names import Address
from hosting.settings import read_settings
from hosting.store_choice import choose_stores
from tests.support.carriers import APP
from tests.support.kept_in import KINDS, kept_in
from tests.support.running_host import RunningHost

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="Windows has no signal that a process can take before it ends"),
]

THREAD = "/api/agents/Joker/threads/t"
STOP_SECONDS = 30.0
GUARD_SECONDS = 15.0
"""Less than a lease: what goes on within it was released and not lost."""


class ChargingApp:
    """A copy of the app, and what the outside saw of it."""

    def __init__(self, folder: Path, stores: dict[str, str]) -> None:
        self._stores = stores
        self.path = shutil.copytree(APP, folder / "app")
        shutil.copy(Path(__file__).parent / "charging_app" / "function_app.py", self.path)
        self.go_on, self._notes = folder / "go-on", folder / "notes.txt"
        self._notes.touch()

    def host(self) -> RunningHost:
        return RunningHost(self.path, environ={"NOTES": str(self._notes), **self._stores})

    def notes(self) -> list[str]:
        """Return what was done in all processes."""
        return self._notes.read_text(encoding="utf-8").split()

    async def until_thinking(self, times: int = 1) -> None:
        """Return once the agent has begun to think so often, under the guard."""

        async def look() -> None:
            while self.notes().count("thought") < times:  # noqa: ASYNC110 - another process writes them
                await asyncio.sleep(0.01)

        await asyncio.wait_for(look(), GUARD_SECONDS)

    async def kinds(self) -> list[str]:
        """Return the kinds of the thread's events."""
        hub = task_hub(self.path, self._stores)
        stores = choose_stores(read_settings(self._stores), self.path, self._stores, hub)
        log = ThreadLog(stores.threads, stores.attachments, hub)
        try:
            return [event.kind for _, event in await log.events(Address.of("Joker", "t"), 0)]
        finally:
            await log.close()


@pytest.fixture
def app(tmp_path: Path, stores: dict[str, str]) -> ChargingApp:
    """The app, its agent thinking until it may go on."""
    return ChargingApp(tmp_path, stores)


async def requested(app: ChargingApp, http: httpx.AsyncClient) -> asyncio.Task[httpx.Response]:
    """Ask, and return the request once the agent thinks."""
    asking = {"message": str(app.go_on), "thread_id": "t"}
    request = asyncio.ensure_future(http.post("/api/agents/Joker/run", json=asking))
    await app.until_thinking()
    return request


async def ended(http: httpx.AsyncClient) -> dict[str, str]:
    """Return the thread's run once it has ended, under the guard."""

    async def look() -> dict[str, str]:
        run: dict[str, str] = {}
        while run.get("status") not in ("success", "failed", "cancelled"):
            await asyncio.sleep(0.02)
            run = (await http.get(f"{THREAD}/runs")).json()["runs"][0]
        return run

    return await asyncio.wait_for(look(), GUARD_SECONDS)


@pytest.mark.behaviour("service.leave")
@pytest.mark.parametrize("stores", kept_in(*KINDS), indirect=True)
async def test_a_run_whose_host_is_told_to_stop_is_released_and_goes_on_behind_its_tool(app: ChargingApp) -> None:
    """In the next host, at once: its tool is not called again, and no lease is waited for."""
    with app.host() as host:
        async with httpx.AsyncClient(base_url=host.origin, timeout=STOP_SECONDS) as http:
            request = await requested(app, http)
            host.process.send_signal(signal.SIGTERM)
            await asyncio.to_thread(host.process.wait, STOP_SECONDS)
            await asyncio.wait((request,))
    at_stop = await app.kinds()

    app.go_on.touch()
    with app.host() as host:
        async with httpx.AsyncClient(base_url=host.origin) as http:
            run = await ended(http)

    assert (at_stop.count("released"), at_stop[-1]) == (1, "released")
    assert (run["status"], app.notes()) == ("success", ["charged", "thought", "thought"])
