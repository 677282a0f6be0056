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
POINTS = ["before-commit:2", "before-commit:3"]
"""Before the run's end is committed with the signal to tell it, and before the commit behind a try."""


def environ(receiver: Receiver) -> Mapping[str, str]:
    """What the app needs to tell this receiver."""
    chosen = {name: value for name, value in WEBHOOKS.items() if name != "AGENT_LOG"}
    return {**chosen, "RECEIVER": f"{receiver.url}/hook"}


async def ask(api: Api) -> None:
    """Ask, and do not wait."""
    await api.ask("say hello", thread_id="t", wait_for_response=False)


async def until_shown(api: Api, state: str) -> dict[str, Any]:
    """Return the delivery once it is shown in that state, under the guard."""

    async def look() -> dict[str, Any]:
        while True:
            shown = (await api.http.get("/api/agents/Joker/threads/t/webhooks")).json()["deliveries"]
            if [one["state"] for one in shown] == [state]:
                return dict(shown[0])
            await asyncio.sleep(0.05)

    return await asyncio.wait_for(look(), 6 * GUARD_SECONDS)


@pytest.mark.parametrize(("point", "stores"), kept_in(*KINDS, first="after-entity:2", rest=POINTS), indirect=["stores"])
async def test_a_kill_at_a_point_of_the_engine_keeps_no_end_from_its_receiver(folder: AppFolder, point: str) -> None:
    """The receiver is away at first: what one process could not tell another one does; all is one message."""
    shutil.copy(APP, folder.path)
    async with receiving() as receiver:
        receiver.statuses = [503, 503]
        await folder.host_killed_by({**environ(receiver), "DEVHOST_CRASH_AT": point}, ask)

        with folder.host(environ(receiver)):
            told = [await receiver.next(6 * GUARD_SECONDS) for _ in range(3)]

    assert [one.verified()["type"] for one in told] == ["run.completed"] * 3
    assert len({(one.id, one.body) for one in told}) == 1


@pytest.mark.behaviour("webhooks.apart")
async def test_a_kill_while_a_receiver_hangs_keeps_nothing_from_it(folder: AppFolder) -> None:
    """The operation is over by then, and the engine has nothing to deliver again: it is found by its note."""
    shutil.copy(APP, folder.path)
    async with receiving() as receiver:
        receiver.statuses = [0]
        with folder.host(environ(receiver)) as host:
            api = folder.api(host)
            await ask(api)
            hung = await receiver.next(6 * GUARD_SECONDS)
            await until_shown(api, "waiting")
            await api.http.aclose()

        with folder.host({**environ(receiver), "KEPT_SECONDS": "0"}):
            again = await receiver.next(6 * GUARD_SECONDS)

    assert (again.id, again.body) == (hung.id, hung.body)
    assert receiver.arrived.empty()
