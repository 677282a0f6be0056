"""A webhook when its host is killed with SIGKILL: its receiver is told all the same, and nobody has to ask."""

from __future__ import annotations

import asyncio
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.faults.app_process import AppFolder
from tests.support.carriers import GUARD_SECONDS, Api
from tests.support.kept_in import KINDS, kept_in
from tests.support.receiver import WEBHOOKS, Receiver, receiving

pytestmark = [
    pytest.mark.slow,
    pytest.mark.behaviour("webhooks.again"),
    pytest.mark.skipif(sys.platform == "win32", reason="the app kills itself by SIGKILL"),
]

APP = Path(__file__).resolve().parent / "webhook_app" / "function_app.py"
ENGINE_POINTS = ["before-commit:2", "before-commit:3"]
"""Before the run's end is committed with the signal to tell it, and before the commit behind a try."""

APP_POINTS = ["before put 1", "before try 2", "after put 2", "before purge 1"]
"""Behind the first try, in a further one and behind it, and before the instance of the clock is removed."""

MORE_POINTS = ["before try 1", "before mark 1", "after start 1", "before put 2", "before mark 3", "after purge 1"]
EXPLORED = [pytest.param(point, "sqlite", marks=pytest.mark.explore) for point in MORE_POINTS]


def environ(receiver: Receiver) -> Mapping[str, str]:
    """What the app needs to tell this receiver."""
    chosen = {name: value for name, value in WEBHOOKS.items() if name != "AGENT_LOG"}
    return {**chosen, "RECEIVER": f"{receiver.url}/hook"}


async def ask(api: Api) -> None:
    """Ask, and do not wait."""
    await api.ask("say hello", thread_id="t", wait_for_response=False)


async def until(api: Api, state: str, clocks: int) -> dict[str, Any]:
    """Return the delivery once it is in that state and the engine has so many clocks, under the guard."""

    async def look() -> dict[str, Any]:
        while True:
            shown = (await api.http.get("/api/agents/Joker/threads/t/webhooks")).json()["deliveries"]
            instances = (await api.http.get("/runtime/webhooks/durabletask/instances")).json()
            there = sum(one["instanceId"].startswith("webhook!") for one in instances)
            if ([one["state"] for one in shown], there) == ([state], clocks):
                return dict(shown[0])
            await asyncio.sleep(0.05)

    return await asyncio.wait_for(look(), 6 * GUARD_SECONDS)


@pytest.mark.parametrize(
    ("point", "stores"), kept_in(*KINDS, first="after-entity:2", rest=ENGINE_POINTS), indirect=["stores"]
)
async def test_a_kill_at_a_point_of_the_engine_keeps_no_end_from_its_receiver(folder: AppFolder, point: str) -> None:
    """The receiver is away at first: what one process could not tell another one does; all is one message."""
    await _told_although_killed(folder, {"DEVHOST_CRASH_AT": point})


@pytest.mark.parametrize(
    ("point", "stores"), [*kept_in(*KINDS, first="before start 1", rest=APP_POINTS), *EXPLORED], indirect=["stores"]
)
async def test_a_kill_between_two_steps_of_a_delivery_keeps_no_end_from_its_receiver(
    folder: AppFolder, point: str
) -> None:
    """Before the first try and behind it, where its clock is not started yet, in a further try, and at the end."""
    await _told_although_killed(folder, {"KILL": point})


async def _told_although_killed(folder: AppFolder, killed: Mapping[str, str]) -> None:
    shutil.copy(APP, folder.path)
    async with receiving() as receiver:
        receiver.statuses = [503, 503]
        await folder.host_killed_by({**environ(receiver), **killed}, ask)

        with folder.host(environ(receiver)) as host:
            api = folder.api(host)
            delivery = await until(api, "delivered", clocks=0)
            await api.http.aclose()
        told = [receiver.arrived.get_nowait() for _ in range(receiver.arrived.qsize())]

    assert [one.verified()["type"] for one in told] == ["run.completed"] * len(told)
    assert len({(one.id, one.body) for one in told}) == 1
    assert 0 <= len(told) - len(delivery["tries"]) <= 1


@pytest.mark.behaviour("webhooks.apart")
async def test_a_kill_while_a_receiver_hangs_keeps_nothing_from_it(folder: AppFolder) -> None:
    """The operation is over by then, and the engine has nothing to deliver again: its clock has it sent."""
    shutil.copy(APP, folder.path)
    held = {"HELD_SECONDS": "3"}
    async with receiving() as receiver:
        receiver.statuses = [0]
        with folder.host({**environ(receiver), **held}) as host:
            api = folder.api(host)
            await ask(api)
            hung = await receiver.next(6 * GUARD_SECONDS)
            await until(api, "waiting", clocks=1)
            await api.http.aclose()
            host.process.kill()

        with folder.host({**environ(receiver), **held}) as host:
            again = await receiver.next(6 * GUARD_SECONDS)
            api = folder.api(host)
            await until(api, "delivered", clocks=0)
            await api.http.aclose()

    assert (again.id, again.body) == (hung.id, hung.body)
    assert receiver.arrived.empty()
