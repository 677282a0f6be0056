"""A run in a host that is told to stop while its agent thinks."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path

import pytest

from hosting.core.thread_log import ThreadLog
from hosting.host_settings import task_hub
from hosting.names import Address
from hosting.settings import read_settings
from hosting.store_choice import choose_stores
from tests.faults.killed_app import KILLED, KilledApp
from tests.support.kept_in import KINDS, kept_in

pytestmark = KILLED

STOP_SECONDS = 30.0
THINKING = """
import asyncio
import os
from functools import partial
from pathlib import Path

import hosting.app
from agent_framework import Agent, tool
from tests.support.answering import AnsweringClient, calls, says


class Thinking(AnsweringClient):
    async def answer(self, messages, options):
        if messages[-1].role != "tool":
            return says(calls("charge"))
        note("thought")
        while not Path(os.environ["NOTES"]).with_name("gate").exists():
            await asyncio.sleep(0.01)
        return says("done")


@tool
def charge() -> str:
    note("charged")
    return "charged"


hosting.app.Shutdown = partial(hosting.app.Shutdown, grace_seconds=1.0)
app = AgentFunctionApp(agents=[Agent(Thinking(), "Do as told.", name="Joker", tools=[charge])])
"""
"""An app whose runs may work for a second on when its host is told to stop."""


async def kinds(app: KilledApp) -> list[str]:
    """Return the kinds of the thread's events."""
    hub = task_hub(app.path, app.stores)
    stores = choose_stores(read_settings(app.stores), app.path, app.stores, hub)
    log = ThreadLog(stores.threads, stores.attachments, hub)
    try:
        return [event.kind for _, event in await log.events(Address.of("Joker", "t"), 0)]
    finally:
        await log.close()


@pytest.mark.behaviour("service.leave")
@pytest.mark.parametrize("stores", kept_in(*KINDS), indirect=True)
async def test_a_run_whose_host_is_told_to_stop_is_released_and_goes_on_behind_its_tool(
    tmp_path: Path, stores: dict[str, str]
) -> None:
    """In the next host: its tool is not called again, and no lease is waited for."""
    app = KilledApp(tmp_path, stores, THINKING)
    async with app.running() as api:
        request = asyncio.ensure_future(api.ask("hi", thread_id="t"))
        await app.until(lambda: "thought" in app.said)
        app.host.process.send_signal(signal.SIGTERM)
        await asyncio.wait_for(asyncio.to_thread(app.host.process.wait), STOP_SECONDS)
        await asyncio.wait((request,))
    at_stop = await kinds(app)
    (app.path.parent / "gate").touch()
    async with app.running() as api:
        [run] = await app.ended(api, "/api/agents/Joker/threads/t")

    assert (at_stop.count("released"), at_stop[-1]) == (1, "released")
    assert (run["status"], app.said) == ("success", ["charged", "thought", "thought"])
