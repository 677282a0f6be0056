"""When the receivers of a task are set: what tasks cost that have none, and where a run ends meanwhile."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from hosting.errors import LogUnavailableError
from tests.hosting.features.a2a.wired import Wired
from tests.support.a2a import message
from tests.support.receiver import WEBHOOKS, Receiver, webhooks_of

pytestmark = pytest.mark.behaviour("a2a.push")

ENDED = "TASK_STATE_COMPLETED"
CREATE = "CreateTaskPushNotificationConfig"


POINTS = {
    "before the log says so": ("announce", False),
    "before it is kept": ("put", False),
    "before the task is read again": ("put", True),
}


@pytest.mark.parametrize("point", POINTS)
async def test_a_task_that_goes_on_and_ends_while_its_receiver_is_set_notifies_it(
    pushing: Wired, receiver: Receiver, point: str
) -> None:
    """Wherever that is: it learns the last state, and as one message."""
    task = await pushing.send("call refund 5", "Clerk", contextId="t")
    await pushing.host.entities.idle()
    receivers = webhooks_of(pushing.app).receivers
    name, is_behind = POINTS[point]
    owner: Any = receivers if name == "announce" else receivers.store
    method = getattr(owner, name)

    async def ended_meanwhile(*given: Any) -> Any:
        done = await method(*given) if is_behind else None
        await pushing.send("approve", "Clerk", taskId=task["id"])
        await pushing.host.entities.idle()
        return done if is_behind else await method(*given)

    setattr(owner, name, ended_meanwhile)
    await pushing.result(CREATE, "Clerk", taskId=task["id"], url=receiver.url)
    await pushing.host.entities.idle()
    received = await receiver.next()

    assert received.verified()["statusUpdate"]["status"]["state"] == ENDED
    assert receiver.arrived.empty()


@pytest.mark.parametrize("name", ["announce", "put"])
async def test_a_receiver_whose_setting_broke_off_is_notified_once_when_it_is_sent_again(
    pushing: Wired, receiver: Receiver, name: str
) -> None:
    """With the message that begins the task: the run goes on, ends, and the message comes again under its id."""
    receivers = webhooks_of(pushing.app).receivers
    owner: Any = receivers if name == "announce" else receivers.store
    method = getattr(owner, name)

    async def breaks_off(*given: Any) -> None:
        await method(*given)
        raise LogUnavailableError

    config = {"taskPushNotificationConfig": {"url": receiver.url}, "returnImmediately": True}
    sent = message("say hello", contextId="t", messageId="m")
    setattr(owner, name, breaks_off)
    refused = await pushing.refused("SendMessage", message=sent, configuration=config)
    setattr(owner, name, method)
    await pushing.host.entities.idle()
    while (task := (await pushing.result("ListTasks", contextId="t"))["tasks"][0])["status"]["state"] != ENDED:  # noqa: ASYNC110
        await asyncio.sleep(0.01)
    await pushing.result("SendMessage", message=sent, configuration=config)
    received = await receiver.next()
    await pushing.host.entities.idle()

    assert refused[0] == -32603
    update = received.verified()["statusUpdate"]
    assert (update["taskId"], update["status"]["state"]) == (task["id"], ENDED)
    assert receiver.arrived.empty()


async def test_a_receiver_that_another_process_sets_is_notified_by_the_one_that_ends_the_run(
    tmp_path: Path, receiver: Receiver
) -> None:
    """Which remembers the thread's log as it was before that."""
    environ = {**WEBHOOKS, "AGENT_LOG": f"sqlite:{tmp_path / 'log.sqlite'}"}
    one, other = Wired(environ), Wired(environ)
    async with one.http, other.http:
        task = await one.send("meet 2", contextId="t", configuration={"returnImmediately": True})
        while task["status"]["state"] != "TASK_STATE_WORKING":
            await asyncio.sleep(0.01)
            task = await one.result("GetTask", id=task["id"])
        await other.result(CREATE, taskId=task["id"], url=receiver.url)
        await one.send("meet 2", contextId="u")
        received = await receiver.next()
        await one.host.entities.idle()

    assert received.verified()["statusUpdate"]["taskId"] == task["id"]
    assert receiver.arrived.empty()
