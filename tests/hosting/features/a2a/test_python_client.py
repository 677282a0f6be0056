"""The official client for Python, and agent-framework's agent over it, against the app without a host.

The client's package takes two seconds to import, so it is imported where it is used.
"""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from tests.hosting.features.a2a.wired import URL, Wired
from tests.support.carriers import GUARD_SECONDS
from tests.support.receiver import WEBHOOKS, receiving

pytestmark = [pytest.mark.slow, pytest.mark.behaviour("a2a.python-client")]


@pytest.fixture
async def plain(wired: Wired) -> AsyncIterator[httpx.AsyncClient]:
    """An HTTP client of the app without a header of ours, as an official client brings its own."""
    pytest.importorskip("a2a", reason="a2a-sdk is not installed")
    transport = httpx.ASGITransport(wired.host.asgi, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, timeout=GUARD_SECONDS) as http:
        yield http


async def client_of(http: httpx.AsyncClient, agent: str = "Joker", **options: Any) -> Any:
    """Return the client of an agent, by its card."""
    from a2a.client import ClientConfig, ClientFactory

    return await ClientFactory(ClientConfig(httpx_client=http, **options)).create_from_url(f"{URL}/{agent}")


def request(text: str, **fields: Any) -> Any:
    """Return a message of a user."""
    from a2a.helpers import new_text_message
    from a2a.types import Role, SendMessageRequest

    return SendMessageRequest(message=new_text_message(text, role=Role.ROLE_USER, **fields))


def text_of(task: Any) -> str:
    """Return the text of a task's newest artifact."""
    return "".join(part.text for part in task.artifacts[-1].parts)


async def one(stream: Any) -> Any:
    """Return the task of a client that does not stream."""
    [response] = [response async for response in stream]
    return response.task


async def test_the_client_chats_reads_lists_and_cancels(plain: httpx.AsyncClient) -> None:
    """Each object is one of its own types."""
    from a2a.types import (
        CancelTaskRequest,
        GetTaskRequest,
        ListTasksRequest,
        SendMessageConfiguration,
        SendMessageRequest,
        TaskState,
    )

    client = await client_of(plain, streaming=False)
    first = await one(client.send_message(request("my name is Ada")))
    second = await one(client.send_message(request("recall", context_id=first.context_id)))
    read = await client.get_task(GetTaskRequest(id=second.id))
    listed = await client.list_tasks(ListTasksRequest(context_id=first.context_id))
    later = SendMessageRequest(
        message=request("sleep 60").message, configuration=SendMessageConfiguration(return_immediately=True)
    )
    working = await one(client.send_message(later))
    canceled = await client.cancel_task(CancelTaskRequest(id=working.id))

    assert (text_of(second), read) == ("my name is Ada | recall", second)
    assert [task.id for task in listed.tasks] == [second.id, first.id]
    assert canceled.status.state == TaskState.TASK_STATE_CANCELED


async def test_the_client_sends_the_key_that_the_card_asks_for(plain: httpx.AsyncClient) -> None:
    """By its own reader of the card; a program gives it the key."""
    from a2a.client import ClientConfig, ClientFactory
    from a2a.client.auth import AuthInterceptor, CredentialService

    class Keys(CredentialService):
        async def get_credentials(self, name: str, context: object) -> str | None:
            return {"functionKey": "the key"}.get(name)

    sent: list[str | None] = []

    async def note(request: httpx.Request) -> None:
        sent.append(request.headers.get("x-functions-key"))

    plain.event_hooks["request"].append(note)
    factory = ClientFactory(ClientConfig(httpx_client=plain, streaming=False))
    client = await factory.create_from_url(f"{URL}/Joker", interceptors=[AuthInterceptor(Keys())])
    await one(client.send_message(request("hello")))

    assert sent == [None, "the key"]  # the card, and the message


async def test_the_client_streams_and_subscribes(plain: httpx.AsyncClient) -> None:
    """The task first, then what changes."""
    from a2a.types import SendMessageConfiguration, SendMessageRequest, SubscribeToTaskRequest, TaskState

    client = await client_of(plain)
    stream = [response async for response in client.send_message(request("say one two"))]
    quiet = await client_of(plain, streaming=False)
    later = SendMessageRequest(
        message=request("sleep 0.1").message, configuration=SendMessageConfiguration(return_immediately=True)
    )
    working = await one(quiet.send_message(later))
    followed = [response async for response in client.subscribe(SubscribeToTaskRequest(id=working.id))]

    kinds = [kind for kind, _ in itertools.groupby(response.WhichOneof("payload") for response in stream)]
    assert kinds == ["task", "status_update", "artifact_update", "status_update"]
    assert "".join(response.artifact_update.artifact.parts[0].text for response in stream[2:-1]) == "one two"
    assert followed[0].task.id == working.id
    assert followed[-1].status_update.status.state == TaskState.TASK_STATE_COMPLETED


async def test_the_client_approves_and_sends_a_picture(wired: Wired, plain: httpx.AsyncClient) -> None:
    """Tool calls that wait are in the status's message."""
    from a2a.types import Message, Part, Role, SendMessageRequest, TaskState

    clerk = await client_of(plain, "Clerk", streaming=False)
    waiting = await one(clerk.send_message(request("call refund 7")))
    done = await one(clerk.send_message(request("approve", task_id=waiting.id)))
    joker = await client_of(plain, streaming=False)
    parts = [Part(text="see"), Part(raw=b"\x89PNG\r\n\x1a\n", media_type="image/png")]
    message = Message(message_id="picture", role=Role.ROLE_USER, parts=parts)
    seen = await one(joker.send_message(SendMessageRequest(message=message)))

    assert waiting.status.state == TaskState.TASK_STATE_INPUT_REQUIRED
    assert waiting.status.message.parts[1].data.struct_value["approvals"][0]["tool"] == "refund"
    assert (done.id, text_of(done)) == (waiting.id, "told: refunded 7")
    assert "data:image/png;base64,iVBORw0KGgo=" in text_of(seen)


async def test_the_client_gets_its_own_errors(plain: httpx.AsyncClient) -> None:
    """By code, with our message and code; also before a stream."""
    from a2a.types import CancelTaskRequest, GetTaskRequest, SubscribeToTaskRequest, TaskPushNotificationConfig
    from a2a.utils.errors import (
        PushNotificationNotSupportedError,
        TaskNotCancelableError,
        TaskNotFoundError,
        UnsupportedOperationError,
    )

    client, following = await client_of(plain, streaming=False), await client_of(plain)
    over = await one(client.send_message(request("hello")))
    with pytest.raises(TaskNotFoundError, match="There is no task 'x'") as refused:
        await client.get_task(GetTaskRequest(id="x"))
    with pytest.raises(TaskNotCancelableError):
        await client.cancel_task(CancelTaskRequest(id=over.id))
    with pytest.raises(UnsupportedOperationError):
        await one(client.send_message(request("more", task_id=over.id)))
    with pytest.raises(UnsupportedOperationError):
        [response async for response in following.subscribe(SubscribeToTaskRequest(id=over.id))]
    with pytest.raises(PushNotificationNotSupportedError):
        await client.create_task_push_notification_config(TaskPushNotificationConfig(task_id=over.id, url="u"))

    assert refused.value.data == {"code": "unknown_run"}


@pytest.mark.behaviour("a2a.push")
async def test_the_client_names_reads_lists_and_deletes_receivers_and_reads_what_they_get() -> None:
    """By its own types."""
    from a2a.types import (
        DeleteTaskPushNotificationConfigRequest,
        GetTaskPushNotificationConfigRequest,
        ListTaskPushNotificationConfigsRequest,
        StreamResponse,
        TaskPushNotificationConfig,
        TaskState,
    )
    from google.protobuf.json_format import ParseDict

    transport = httpx.ASGITransport(Wired(WEBHOOKS).host.asgi)
    async with receiving() as receiver, httpx.AsyncClient(transport=transport, timeout=GUARD_SECONDS) as http:
        client = await client_of(http, "Clerk", streaming=False)
        task = (await one(client.send_message(request("call refund 7")))).id
        wanted, all_of_task = {"task_id": task, "id": "c"}, ListTaskPushNotificationConfigsRequest(task_id=task)
        named = await client.create_task_push_notification_config(
            TaskPushNotificationConfig(**wanted, url=receiver.url, token="n")
        )
        received = await receiver.next()
        read = await client.get_task_push_notification_config(GetTaskPushNotificationConfigRequest(**wanted))
        listed = await client.list_task_push_notification_configs(all_of_task)
        await client.delete_task_push_notification_config(DeleteTaskPushNotificationConfigRequest(**wanted))
        left = await client.list_task_push_notification_configs(all_of_task)

    update = ParseDict(received.message, StreamResponse()).status_update
    assert named == read == listed.configs[0]
    assert (read.id, read.task_id, read.token, len(left.configs)) == ("c", task, "n", 0)
    assert (update.task_id, update.status.state) == (task, TaskState.TASK_STATE_INPUT_REQUIRED)


@pytest.mark.behaviour("a2a.agent")
async def test_agent_frameworks_agent_chats_streams_and_approves(wired: Wired, plain: httpx.AsyncClient) -> None:
    """In one session, whose context is a thread here; it sends a picture and gets the protocol's errors."""
    from a2a.utils.errors import InvalidParamsError
    from agent_framework import Content
    from agent_framework import Message as AgentMessage
    from agent_framework_a2a import A2AAgent

    card = f"{URL}/Joker"
    async with A2AAgent(name="Joker", url=card, http_client=plain) as joker:
        session = joker.create_session()
        await joker.run("my name is Ada", session=session)
        recalled = await joker.run("recall", session=session)
        words = [update.text async for update in joker.run("say one two", session=session, stream=True)]
        picture = Content.from_uri("data:image/png;base64,iVBORw0KGgo=", media_type="image/png")
        seen = await joker.run(AgentMessage("user", [Content.from_text("see"), picture]))
        with pytest.raises(InvalidParamsError, match="The message is blank"):
            await joker.run(" ", session=session)
    async with A2AAgent(name="Clerk", url=f"{URL}/Clerk", http_client=plain) as clerk:
        session = clerk.create_session()
        waiting = await clerk.run("call refund 7", session=session)
        done = await clerk.run("approve", session=session)

    assert recalled.text == "my name is Ada | recall"
    assert seen.text == "user text:see data:data:image/png;base64,iVBORw0KGgo="
    assert "".join(words) == "one two"
    assert "Waits for a person's approval of: refund" in waiting.text
    assert done.text.endswith("told: refunded 7")
    assert len(wired.notes) == 1
