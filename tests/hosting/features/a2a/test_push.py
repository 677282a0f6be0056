"""Push notifications of tasks: whom they are sent to, what is in them, and where they never go."""

from __future__ import annotations

from typing import Any

import pytest

from hosting.core.deletion import UNUSED_SECONDS
from hosting.features.webhooks.receivers import MOST_RECEIVERS
from hosting.names import Address
from tests.hosting.features.a2a.wired import Wired
from tests.support.a2a import message
from tests.support.receiver import Received, Receiver, webhooks_of

pytestmark = pytest.mark.behaviour("a2a.push")

CREATE, GET = "CreateTaskPushNotificationConfig", "GetTaskPushNotificationConfig"
LIST, DELETE = "ListTaskPushNotificationConfigs", "DeleteTaskPushNotificationConfig"
THREAD = "Clerk/threads/t"
NOWHERE = {"url": "http://127.0.0.1:9/"}
WAITS, ENDED = "TASK_STATE_INPUT_REQUIRED", "TASK_STATE_COMPLETED"


def state_in(received: Received) -> tuple[str, str]:
    """Return of which task it is and the state, once the signature is verified."""
    update = received.verified()["statusUpdate"]
    return update["taskId"], update["status"]["state"]


async def test_a_receiver_that_comes_with_the_message_is_notified_of_each_pause_and_the_end(
    pushing: Wired, receiver: Receiver
) -> None:
    """By its token and its credentials, signed; without a word of the task. The message sent again notifies nobody.

    Also where a person approves over our own route, which knows nothing of the protocol.
    """
    authentication = {"scheme": "Bearer", "credentials": "a-secret"}
    config = {"url": f"{receiver.url}/hook", "token": "for-this-task", "authentication": authentication}
    sent = {"messageId": "m", "contextId": "t", "configuration": {"taskPushNotificationConfig": config}}
    task = await pushing.send("call refund 5", "Clerk", **sent)
    waiting = await receiver.next()
    approvals = (await pushing.ours("GET", f"{THREAD}/approvals")).json()["approvals"]
    await pushing.ours("POST", f"{THREAD}/approvals/{approvals[0]['id']}", {"approved": True})
    done = await receiver.next()
    again = await pushing.send("call refund 5", "Clerk", **sent)
    await pushing.host.entities.idle()

    assert (state_in(waiting), state_in(done)) == ((task["id"], WAITS), (task["id"], ENDED))
    assert waiting.id != done.id
    for received in (waiting, done):
        assert (received.path, b"refund" in received.body) == ("/hook", False)
        assert received.headers["x-a2a-notification-token"] == "for-this-task"
        assert received.headers["authorization"] == "Bearer a-secret"
    assert (again["id"], receiver.arrived.empty()) == (task["id"], True)


async def test_receivers_are_created_read_listed_and_deleted(pushing: Wired, receiver: Receiver) -> None:
    """A deleted one is not notified; nobody sees credentials; without an id there is one for the task."""
    task = (await pushing.send("call refund 5", "Clerk"))["id"]
    secret = {"authentication": {"scheme": "Basic", "credentials": "eDp5"}, "token": "n"}
    first = await pushing.result(CREATE, "Clerk", taskId=task, id="one", url=f"{receiver.url}/1", **secret)
    await pushing.result(CREATE, "Clerk", taskId=task, url=f"{receiver.url}/2")
    second = await pushing.result(CREATE, "Clerk", taskId=task, url=f"{receiver.url}/3")
    read = [await pushing.result(GET, "Clerk", taskId=task, id=name) for name in ("one", second["id"], task)]
    listed = await pushing.result(LIST, "Clerk", taskId=task)
    deleted = [await pushing.result(DELETE, "Clerk", taskId=task, id="one") for _ in range(2)]
    missing = await pushing.refused(GET, "Clerk", taskId=task, id="one")
    await pushing.host.entities.idle()
    while not receiver.arrived.empty():
        await receiver.next()
    await pushing.send("approve", "Clerk", taskId=task)
    done = await receiver.next()
    await pushing.host.entities.idle()

    shown = {"taskId": task, "id": "one", "url": f"{receiver.url}/1", "token": "n"}
    assert first == {**shown, "authentication": {"scheme": "Basic"}}
    assert read == [first, second, second]
    assert listed == {"configs": [first, second], "nextPageToken": ""}
    assert deleted == [{}, {}]
    assert missing == (-32001, "The task has no receiver 'one'. List them, or create it.")
    assert (done.path, receiver.arrived.empty()) == ("/3", True)


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"url": "https://10.0.0.1/"}, "url: The webhook 'https://10.0.0.1/' is refused."),
        ({"url": ""}, "url: The webhook '' is refused."),
        ({**NOWHERE, "token": "a\r\nx-b: c"}, "token goes into a header."),
        ({**NOWHERE, "authentication": {"credentials": "é"}}, "authentication.credentials goes"),
        ({**NOWHERE, "id": "a/b"}, "id is 'a/b'. Send 1 to 64"),
        ({**NOWHERE, "authentication": []}, "authentication is a JSON array. Send an object."),
    ],
)
async def test_a_receiver_that_may_not_be_is_refused(pushing: Wired, config: dict[str, Any], said: str) -> None:
    """Wherever it is named; the message that brings it begins no task."""
    task = await pushing.send("call refund 5", "Clerk")
    code, text = await pushing.refused(CREATE, "Clerk", taskId=task["id"], **config)
    sent = {"message": message("x", contextId="u"), "configuration": {"taskPushNotificationConfig": config}}
    with_message = await pushing.refused("SendMessage", **sent)
    tasks = await pushing.result("ListTasks", contextId="u")

    assert (code, text[: len(said)]) == (-32602, said)
    assert with_message == (-32602, f"taskPushNotificationConfig.{text}")
    assert tasks["totalSize"] == 0


async def test_a_task_has_so_many_receivers_and_one_of_ours_none(pushing: Wired) -> None:
    """Of a run that was begun over our own routes nobody is notified so: its request may name a webhook."""
    task = (await pushing.send("call refund 5", "Clerk"))["id"]
    for number in range(MOST_RECEIVERS):
        await pushing.result(CREATE, "Clerk", taskId=task, id=f"n{number}", **NOWHERE)
    full = await pushing.refused(CREATE, "Clerk", taskId=task, id="more", **NOWHERE)
    ours = (await pushing.ours("POST", "Joker/run", {"message": "hi"})).json()
    code, said = await pushing.refused(CREATE, taskId=f"{ours['run_id']}~{ours['thread_id']}", **NOWHERE)

    assert full == (-32602, f"The task has {MOST_RECEIVERS} receivers. Delete one first.")
    assert (code, said.partition(":")[0]) == (-32004, "This task sends no notifications")


async def test_a_receiver_goes_with_its_thread_and_not_before(pushing: Wired) -> None:
    """What erases uploads to which nothing refers leaves it; it is in the export, and no attachment in the receipt."""
    task = await pushing.send("call refund 5", "Clerk", contextId="t")
    await pushing.result(CREATE, "Clerk", taskId=task["id"], **NOWHERE)
    await pushing.host.entities.idle()
    services = pushing.app._services
    clocks = services.log.clocks
    services.log.clocks = type(clocks)(wall=lambda: clocks.wall() + 2 * UNUSED_SECONDS, awake=clocks.awake)
    await services.deletion.erase_unused(Address.of("Clerk", "t"), None)
    services.log.clocks = clocks
    (kept,) = (await pushing.result(LIST, "Clerk", taskId=task["id"]))["configs"]
    export = (await pushing.ours("GET", f"{THREAD}/export")).json()
    await pushing.ours("DELETE", THREAD)
    receipt = (await pushing.ours("GET", f"{THREAD}/erasure")).json()

    assert export["receivers"] == [{"id": kept["id"], **NOWHERE}]
    assert receipt["attachments"] == []
    assert await services.stores.attachments.put_between(f"{services.stores.hub}.log", 0.0, clocks.wall() + 1) == []


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

    assert state_in(await receiver.next()) == (task["id"], ENDED)
    assert receiver.arrived.empty()
