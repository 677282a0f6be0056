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
APPROVALS = "http://app.example/api/agents/Clerk/threads/{}/approvals"


def _state(received: Received) -> tuple[str, str]:
    """Return of which task it is and the state, once the signature is verified."""
    update = received.verified()["statusUpdate"]
    return update["taskId"], update["status"]["state"]


async def test_a_receiver_that_comes_with_the_message_is_notified_of_the_end(
    pushing: Wired, receiver: Receiver
) -> None:
    """By its token and its credentials, signed; without a word of the task. The message sent again notifies nobody."""
    config = {
        "url": f"{receiver.url}/hook",
        "token": "for-this-task",
        "authentication": {"scheme": "Bearer", "credentials": "a-secret"},
    }
    sent = {"messageId": "m", "configuration": {"taskPushNotificationConfig": config}}
    task = await pushing.send("say hello", **sent)
    received = await receiver.next()
    again = await pushing.send("say hello", **sent)
    await pushing.host.entities.idle()

    assert _state(received) == (task["id"], "TASK_STATE_COMPLETED")
    assert received.path == "/hook"
    assert received.headers["x-a2a-notification-token"] == "for-this-task"
    assert received.headers["authorization"] == "Bearer a-secret"
    assert b"hello" not in received.body
    assert again["id"] == task["id"]
    assert receiver.arrived.empty()


async def test_a_task_that_waits_and_goes_on_is_one_to_its_receiver(pushing: Wired, receiver: Receiver) -> None:
    """Also where a person approves over our own route, which knows nothing of the protocol."""
    config = {"taskPushNotificationConfig": {"url": receiver.url}}
    task = await pushing.send("call refund 5", "Clerk", configuration=config, contextId="t")
    waiting = await receiver.next()
    approvals = (await pushing.http.get(APPROVALS.format("t"))).json()["approvals"]
    answered = await pushing.http.post(f"{APPROVALS.format('t')}/{approvals[0]['id']}", json={"approved": True})
    done = await receiver.next()

    assert answered.status_code == 200
    assert _state(waiting) == (task["id"], "TASK_STATE_INPUT_REQUIRED")
    assert _state(done) == (task["id"], "TASK_STATE_COMPLETED")
    assert waiting.id != done.id
    assert b"refund" not in waiting.body


async def test_receivers_are_created_read_listed_and_deleted(pushing: Wired, receiver: Receiver) -> None:
    """A deleted one is not notified; nobody sees credentials; without an id there is one for the task."""
    task = (await pushing.send("call refund 5", "Clerk"))["id"]
    secret = {"authentication": {"scheme": "Basic", "credentials": "eDp5"}, "token": "n"}
    first = await pushing.result(CREATE, "Clerk", taskId=task, id="one", url=f"{receiver.url}/1", **secret)
    await pushing.result(CREATE, "Clerk", taskId=task, url=f"{receiver.url}/2")
    second = await pushing.result(CREATE, "Clerk", taskId=task, url=f"{receiver.url}/3")
    read = [await pushing.result(GET, "Clerk", taskId=task, id=one) for one in ("one", second["id"], task)]
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
        ({"url": "http://127.0.0.1:9/", "token": "a\r\nx-b: c"}, "token goes into a header."),
        ({"url": "http://127.0.0.1:9/", "authentication": {"credentials": "é"}}, "authentication.credentials goes"),
        ({"url": "http://127.0.0.1:9/", "id": "a/b"}, "id is 'a/b'. Send 1 to 64"),
        ({"url": "http://127.0.0.1:9/", "authentication": []}, "authentication is a JSON array. Send an object."),
    ],
)
async def test_a_receiver_that_may_not_be_is_refused(pushing: Wired, config: dict[str, Any], said: str) -> None:
    """Wherever it is named; the message that brings it begins no task."""
    task = await pushing.send("call refund 5", "Clerk")
    code, text = await pushing.refused(CREATE, "Clerk", taskId=task["id"], **config)
    configuration = {"taskPushNotificationConfig": config}
    with_message = await pushing.refused(
        "SendMessage", message=message("x", contextId="u"), configuration=configuration
    )
    tasks = await pushing.result("ListTasks", contextId="u")

    assert (code, text[: len(said)]) == (-32602, said)
    assert with_message == (-32602, f"taskPushNotificationConfig.{text}")
    assert tasks["totalSize"] == 0


async def test_a_task_has_so_many_receivers_and_one_of_ours_none(pushing: Wired) -> None:
    """Of a run that was begun over our own routes nobody is notified so: its request may name a webhook."""
    task = (await pushing.send("call refund 5", "Clerk"))["id"]
    for number in range(MOST_RECEIVERS):
        await pushing.result(CREATE, "Clerk", taskId=task, id=f"n{number}", url="http://127.0.0.1:9/")
    full = await pushing.refused(CREATE, "Clerk", taskId=task, id="more", url="http://127.0.0.1:9/")
    ours = (await pushing.http.post("http://app.example/api/agents/Joker/run", json={"message": "hi"})).json()
    refused = await pushing.refused(CREATE, taskId=f"{ours['run_id']}~{ours['thread_id']}", url="http://127.0.0.1:9/")

    assert full == (-32602, f"The task has {MOST_RECEIVERS} receivers. Delete one first.")
    assert refused[0] == -32004
    assert refused[1].startswith("This task sends no notifications: it did not start over A2A")


async def test_a_receiver_goes_with_its_thread_and_not_before(pushing: Wired) -> None:
    """What erases uploads to which nothing refers leaves it; it is in the export, and no attachment in the receipt."""
    task = await pushing.send("call refund 5", "Clerk", contextId="t")
    await pushing.result(CREATE, "Clerk", taskId=task["id"], url="http://127.0.0.1:9/")
    await pushing.host.entities.idle()
    services = pushing.app._services
    address = Address.of("Clerk", "t")
    clocks = services.log.clocks
    services.log.clocks = type(clocks)(wall=lambda: clocks.wall() + 2 * UNUSED_SECONDS, awake=clocks.awake)
    await services.deletion.erase_unused(address, None)
    services.log.clocks = clocks
    kept = await pushing.result(LIST, "Clerk", taskId=task["id"])
    export = (await pushing.http.get("http://app.example/api/agents/Clerk/threads/t/export")).json()
    await pushing.http.delete("http://app.example/api/agents/Clerk/threads/t")
    receipt = (await pushing.http.get("http://app.example/api/agents/Clerk/threads/t/erasure")).json()

    assert len(kept["configs"]) == 1
    assert export["receivers"] == [{"id": kept["configs"][0]["id"], "url": "http://127.0.0.1:9/"}]
    assert receipt["attachments"] == []
    assert await services.stores.attachments.put_between(f"{services.stores.hub}.log", 0.0, clocks.wall() + 1) == []


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
