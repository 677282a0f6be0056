"""Receivers of tasks, and what is sent again, where the processes that took them are killed by SIGKILL.

Two HTTP hosts and a durable one over one log. What one of the first has answered stands, whichever is killed then.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx
import pytest

from hosting.names import new_id
from tests.faults.app_process import AppFolder
from tests.support.a2a import HEADERS, message
from tests.support.grouped_app import GroupedApp, grouped_app
from tests.support.receiver import WEBHOOKS, Receiver, receiving

pytestmark = pytest.mark.slow

GUARD_SECONDS = 60.0
AGENT = "/api/agents/Joker"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> AppFolder:
    """The app under test, in a folder of its own."""
    return AppFolder(tmp_path_factory.mktemp("receivers"))


@pytest.fixture(scope="module")
def app(folder: AppFolder) -> Iterator[GroupedApp]:
    """Its hosts; a test starts again those that it kills."""
    own = {"AGENT_LOG": f"sqlite:{folder.path / 'log.sqlite'}", "WIRES": "a2a", "SCRIPT_LOG": str(folder.script_log)}
    with grouped_app(folder.path, log={**WEBHOOKS, "LEASE_SECONDS": "1", **own}) as hosts:
        yield hosts


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    async with receiving() as opened:
        yield opened


@pytest.fixture
async def http() -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(timeout=GUARD_SECONDS, headers=HEADERS) as client:
        yield client


async def rpc(http: httpx.AsyncClient, origin: str, method: str, **params: Any) -> dict[str, Any]:
    """Return what a host answers to a call of the protocol."""
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    return dict((await http.post(f"{origin}/api/a2a/Joker", json=body)).json())


async def settled(http: httpx.AsyncClient, origin: str, thread_id: str, state: str = "delivered") -> dict[str, Any]:
    """Return the one delivery of a thread's runs, once it is in that state."""

    async def asked() -> dict[str, Any]:
        while True:
            found = (await http.get(f"{origin}{AGENT}/threads/{thread_id}/webhooks")).json()["deliveries"]
            if [one["state"] for one in found] == [state]:
                return dict(found[0])
            await asyncio.sleep(0.05)

    return await asyncio.wait_for(asked(), GUARD_SECONDS)


@pytest.mark.behaviour("a2a.push")
async def test_a_receiver_is_notified_once_by_the_process_that_takes_a_killed_run_over(
    app: GroupedApp, folder: AppFolder, http: httpx.AsyncClient, receiver: Receiver
) -> None:
    """One process holds the run, another sets the receiver; both are killed, before the run has ended."""
    one, two = app.http
    thread_id = new_id()
    sent = {"message": message("sleep 2", contextId=thread_id)}
    held = asyncio.ensure_future(rpc(http, one.origin, "SendMessage", **sent))
    await folder.until_model_called("sleep 2")
    [task] = (await rpc(http, two.origin, "ListTasks", contextId=thread_id))["result"]["tasks"]
    kept = await rpc(http, two.origin, "CreateTaskPushNotificationConfig", taskId=task["id"], url=receiver.url)
    one.kill()
    two.kill()
    await asyncio.gather(held, return_exceptions=True)

    told = await receiver.next(GUARD_SECONDS)
    one.start()
    two.start()
    delivery = await settled(http, one.origin, thread_id)

    update = told.verified()["statusUpdate"]
    assert kept["result"]["taskId"] == update["taskId"] == task["id"]
    assert update["status"]["state"] == "TASK_STATE_COMPLETED"
    assert [one["status"] for one in delivery["tries"]] == [204]
    assert receiver.arrived.empty()
    assert folder.model_calls("sleep 2") == 2


@pytest.mark.behaviour("webhooks.shown")
async def test_what_two_processes_send_again_at_once_comes_once_although_all_are_killed(
    app: GroupedApp, http: httpx.AsyncClient, receiver: Receiver
) -> None:
    """It had been given up. They are killed when they have answered, and before anything is sent."""
    receiver.statuses = [410]
    thread_id = new_id()
    body = {"message": "say hello", "thread_id": thread_id, "webhook": receiver.url}
    run = (await http.post(f"{app.origin}{AGENT}/run", json=body)).json()
    dead = await receiver.next(GUARD_SECONDS)
    place = f"{AGENT}/threads/{thread_id}/runs/{run['run_id']}/webhooks/request"
    await settled(http, app.http[0].origin, thread_id, "dead")

    app.durable.kill()
    answers = await asyncio.gather(*(http.post(host.origin + place) for host in app.http for _ in range(2)))
    for host in app.http:
        host.kill()
    for host in (*app.workers, *app.http):
        host.start()
    again = await receiver.next(GUARD_SECONDS)
    delivery = await settled(http, app.http[1].origin, thread_id)

    assert [answer.status_code for answer in answers] == [202] * 4
    assert {answer.json()["state"] for answer in answers} == {"dead"}
    assert (again.id, again.body, again.verified()["type"]) == (dead.id, dead.body, "run.completed")
    assert [one["status"] for one in delivery["tries"]] == [410, 204]
    assert receiver.arrived.empty()
