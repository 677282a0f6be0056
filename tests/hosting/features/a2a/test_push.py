"""Push notifications of tasks: whom they are sent to, what is in them, and where they never go."""

from __future__ import annotations

from typing import Any

import pytest

from hosting.core.deletion import UNUSED_SECONDS
from hosting.features.webhooks.receivers import MOST_RECEIVERS
from hosting.names import Address
from tests.hosting.features.a2a.wired import Wired
from tests.support.a2a import message
from tests.support.receiver import Received, Receiver

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


async def test_one_that_is_created_for_a_task_that_waits_is_notified_at_once_and_of_its_cancel(
    pushing: Wired, receiver: Receiver
) -> None:
    """It may have come while the run ended."""
    task = await pushing.send("call refund 5", "Clerk")
    await pushing.host.entities.idle()
    await pushing.result(CREATE, "Clerk", taskId=task["id"], url=receiver.url)
    waiting = await receiver.next()
    await pushing.result("CancelTask", "Clerk", id=task["id"])
    canceled = await receiver.next()

    assert [_state(one)[1] for one in (waiting, canceled)] == ["TASK_STATE_INPUT_REQUIRED", "TASK_STATE_CANCELED"]


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


async def test_what_is_not_taken_is_listed_and_sent_again(pushing: Wired, receiver: Receiver) -> None:
    """As every delivery is, to that receiver alone."""
    receiver.statuses = [410]
    config = {"taskPushNotificationConfig": {"url": receiver.url, "id": "mine"}}
    task = await pushing.send("say hello", configuration=config, contextId="t")
    await receiver.next()
    await pushing.result(CREATE, taskId=task["id"], url=f"{receiver.url}/other")
    await receiver.next()
    await pushing.host.entities.idle()
    agents = "http://app.example/api/agents/Joker"
    [dead] = (await pushing.http.get(f"{agents}/webhooks")).json()["deliveries"]
    sent = await pushing.http.post(f"{agents}/threads/t/runs/{dead['run_id']}/webhooks/{dead['receiver']}")
    again = await receiver.next()
    await pushing.host.entities.idle()

    assert receiver.arrived.empty()
    assert (dead["receiver"], dead["state"]) == ("push-mine", "dead")
    assert sent.status_code == 202
    assert _state(again) == (task["id"], "TASK_STATE_COMPLETED")


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
