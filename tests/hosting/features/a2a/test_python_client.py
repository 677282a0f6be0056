"""The official client for Python and agent-framework's agent over it, feature by feature, on the app without a host.

The clients' packages take two seconds to import, so they are imported where they are used.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from tests.hosting.features.a2a.wired import URL, Wired
from tests.support.carriers import GUARD_SECONDS
from tests.support.receiver import WEBHOOKS, receiving

pytestmark = [pytest.mark.slow, pytest.mark.behaviour("a2a.python-client")]

PNG = b"\x89PNG\r\n\x1a\n"
NUMBERS = itertools.count(1)


@pytest.fixture
async def plain(wired: Wired) -> AsyncIterator[httpx.AsyncClient]:
    """An HTTP client of the app without a header of ours, as an official client brings its own."""
    pytest.importorskip("a2a", reason="a2a-sdk is not installed")
    transport = httpx.ASGITransport(wired.host.asgi, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, timeout=GUARD_SECONDS) as http:
        yield http


async def client_of(http: httpx.AsyncClient, agent: str = "Joker", **options: Any) -> Any:
    """Return the client of an agent, by its card."""
    from a2a.client import ClientConfig, create_client

    return await create_client(f"{URL}/{agent}", ClientConfig(httpx_client=http, **options))


def request(*parts: Any, configuration: Any = None, message_id: str = "", **fields: Any) -> Any:
    """Return a message of a user; a text is a part."""
    from a2a.types import Message, Part, Role, SendMessageConfiguration, SendMessageRequest

    made = [Part(text=part) if isinstance(part, str) else part for part in parts]
    named = message_id or f"m-{next(NUMBERS)}"
    return SendMessageRequest(
        message=Message(message_id=named, role=Role.ROLE_USER, parts=made, **fields),
        configuration=SendMessageConfiguration(**(configuration or {})),
    )


async def task_of(client: Any, sent: Any, **more: Any) -> Any:
    """Return the task of a client that does not stream."""
    [response] = [response async for response in client.send_message(sent, **more)]
    return response.task


def text_of(task: Any) -> str:
    """Return the text of a task's newest artifact."""
    return "".join(part.text for part in task.artifacts[-1].parts)


async def ended(client: Any, task_id: str) -> Any:
    """Return a task once it is over, by reading it."""
    from a2a.types import GetTaskRequest, TaskState

    states = (TaskState.TASK_STATE_SUBMITTED, TaskState.TASK_STATE_WORKING)
    task = await client.get_task(GetTaskRequest(id=task_id))
    async with asyncio.timeout(GUARD_SECONDS):
        while task.status.state in states:
            await asyncio.sleep(0)
            task = await client.get_task(GetTaskRequest(id=task_id))
    return task


def shown(part: Any) -> tuple[str, Any, str, str]:
    """Return the kind of a part with its content, its name and its type."""
    kind = part.WhichOneof("content")
    value = {"a": part.data.struct_value["key"]} if kind == "data" else getattr(part, kind)
    return kind, value, part.filename, part.media_type


async def test_the_client_chats_reads_lists_and_cancels(plain: httpx.AsyncClient) -> None:
    """Each object is one of its own types."""
    from a2a.types import CancelTaskRequest, GetTaskRequest, ListTasksRequest, TaskState

    client = await client_of(plain, streaming=False)
    first = await task_of(client, request("my name is Ada"))
    second = await task_of(client, request("recall", context_id=first.context_id))
    read = await client.get_task(GetTaskRequest(id=second.id))
    listed = await client.list_tasks(ListTasksRequest(context_id=first.context_id))
    working = await task_of(client, request("sleep 60", configuration={"return_immediately": True}))
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
    await task_of(client, request("hello"))

    assert sent == [None, "the key"]  # the card, and the message


async def test_the_client_streams_and_subscribes(plain: httpx.AsyncClient) -> None:
    """The task first, then what changes."""
    from a2a.types import SubscribeToTaskRequest, TaskState

    client = await client_of(plain)
    stream = [response async for response in client.send_message(request("say one two"))]
    quiet = await client_of(plain, streaming=False)
    working = await task_of(quiet, request("sleep 0.1", configuration={"return_immediately": True}))
    followed = [response async for response in client.subscribe(SubscribeToTaskRequest(id=working.id))]

    kinds = [kind for kind, _ in itertools.groupby(response.WhichOneof("payload") for response in stream)]
    assert kinds == ["task", "status_update", "artifact_update", "status_update"]
    assert "".join(response.artifact_update.artifact.parts[0].text for response in stream[2:-1]) == "one two"
    assert followed[0].task.id == working.id
    assert followed[-1].status_update.status.state == TaskState.TASK_STATE_COMPLETED


async def test_the_client_approves_and_sends_a_picture(wired: Wired, plain: httpx.AsyncClient) -> None:
    """Tool calls that wait are in the status's message."""
    from a2a.types import Part, TaskState

    clerk = await client_of(plain, "Clerk", streaming=False)
    waiting = await task_of(clerk, request("call refund 7"))
    done = await task_of(clerk, request("approve", task_id=waiting.id))
    joker = await client_of(plain, streaming=False)
    seen = await task_of(joker, request("see", Part(raw=PNG, media_type="image/png")))

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
    over = await task_of(client, request("hello"))
    with pytest.raises(TaskNotFoundError, match="There is no task 'x'") as refused:
        await client.get_task(GetTaskRequest(id="x"))
    with pytest.raises(TaskNotCancelableError):
        await client.cancel_task(CancelTaskRequest(id=over.id))
    with pytest.raises(UnsupportedOperationError):
        await task_of(client, request("more", task_id=over.id))
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
        task = (await task_of(client, request("call refund 7"))).id
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


@pytest.mark.behaviour("a2a.parts")
async def test_it_sends_files_by_bytes_and_by_address_and_values(plain: httpx.AsyncClient) -> None:
    """With names and types; the task's history has them again."""
    from a2a.types import Part
    from google.protobuf.json_format import ParseDict
    from google.protobuf.struct_pb2 import Value

    joker = await client_of(plain, streaming=False)
    parts = [
        Part(raw=PNG, media_type="image/png", filename="a.png"),
        Part(url="https://example.com/b.jpg", media_type="image/jpeg"),
        Part(data=ParseDict({"a": 1}, Value())),
    ]
    task = await task_of(joker, request("see", *parts))

    said = "".join(part.text for part in task.artifacts[0].parts)
    assert said == (
        'user text:see data:a.png:data:image/png;base64,iVBORw0KGgo= uri:https://example.com/b.jpg text:{"a": 1.0}'
    )
    assert [part.WhichOneof("content") for part in task.history[0].parts] == ["text", "raw", "url", "text"]
    assert (task.history[0].parts[1].raw, task.history[0].parts[2].url) == (PNG, "https://example.com/b.jpg")


@pytest.mark.behaviour("a2a.artifacts")
@pytest.mark.parametrize("streaming", [False, True])
async def test_it_gets_files_by_bytes_and_by_address_and_values(plain: httpx.AsyncClient, streaming: bool) -> None:
    """As parts of the artifact, whole or in a stream."""
    kit = await client_of(plain, "Kit", streaming=streaming)
    got = []
    for number, scenario in enumerate(("tck-artifact-file", "tck-artifact-file-url", "tck-artifact-data")):
        sent = request("give", message_id=f"{scenario}-{number}")
        updates = [update async for update in kit.send_message(sent)]
        if streaming:
            artifacts = [update.artifact_update.artifact for update in updates if update.HasField("artifact_update")]
        else:
            artifacts = [*updates[0].task.artifacts]
        got += [shown(part) for artifact in artifacts for part in artifact.parts]

    assert got == [
        ("raw", b"From a file.", "output.txt", "text/plain"),
        ("url", "https://example.com/output.txt", "output.txt", "text/plain"),
        ("data", {"a": "value"}, "", "application/json"),
    ]


async def test_it_polls_and_names_the_outputs_that_it_takes(plain: httpx.AsyncClient) -> None:
    """The task comes at once, and its end by reading; JSON alone is a value."""
    from a2a.types import TaskState

    polling = await client_of(plain, streaming=False, polling=True)
    begun = await task_of(polling, request("sleep 0.2"))
    over = await ended(polling, begun.id)
    json_alone = await client_of(plain, streaming=False, accepted_output_modes=["application/json"])
    value = await task_of(json_alone, request('say {"key": 2}', message_id="json"))

    assert begun.status.state in (TaskState.TASK_STATE_SUBMITTED, TaskState.TASK_STATE_WORKING)
    assert over.status.state == TaskState.TASK_STATE_COMPLETED
    assert shown(value.artifacts[0].parts[-1])[:2] == ("data", {"a": 2.0})


async def test_it_names_a_receiver_for_all_its_messages() -> None:
    """Which is notified of the end."""
    from a2a.types import TaskPushNotificationConfig

    transport = httpx.ASGITransport(Wired(WEBHOOKS).host.asgi)
    async with receiving() as receiver, httpx.AsyncClient(transport=transport, timeout=GUARD_SECONDS) as http:
        config = TaskPushNotificationConfig(id="c", url=receiver.url, token="n")
        client = await client_of(http, streaming=False, push_notification_config=config)
        task = await task_of(client, request("hello"))
        received = await receiver.next()

    assert received.message["statusUpdate"]["taskId"] == task.id


async def test_it_lists_a_part_of_the_tasks_with_a_part_of_their_history(plain: httpx.AsyncClient) -> None:
    """By state, page by page, with or without artifacts."""
    from a2a.types import GetTaskRequest, ListTasksRequest, TaskState

    client = await client_of(plain, streaming=False)
    context = "listed"
    tasks = [
        await task_of(client, request("hello", message_id=f"m-{number}", context_id=context)) for number in range(3)
    ]
    failed = await task_of(client, request("fail", message_id="f", context_id=context))
    only_failed = ListTasksRequest(context_id=context, status=TaskState.TASK_STATE_FAILED)
    first = await client.list_tasks(ListTasksRequest(context_id=context, page_size=3))
    rest = await client.list_tasks(ListTasksRequest(context_id=context, page_size=3, page_token=first.next_page_token))
    bare = await client.get_task(GetTaskRequest(id=tasks[0].id, history_length=0))
    whole = await client.list_tasks(ListTasksRequest(context_id=context, include_artifacts=True, page_size=3))

    assert [task.id for task in (await client.list_tasks(only_failed)).tasks] == [failed.id]
    assert [task.id for task in (*first.tasks, *rest.tasks)] == [failed.id, *(task.id for task in reversed(tasks))]
    assert (len(tasks[0].history), len(bare.history), first.total_size) == (1, 0, 4)
    assert [len(task.artifacts) for task in (first.tasks[1], whole.tasks[1])] == [0, 1]


async def test_there_is_one_card_for_all_and_one_binding(plain: httpx.AsyncClient) -> None:
    """The extended card is the public one; a client without JSON-RPC finds no way to talk."""
    from a2a.client import A2ACardResolver
    from a2a.types import GetExtendedAgentCardRequest

    card = await A2ACardResolver(plain, f"{URL}/Joker").get_agent_card()
    client = await client_of(plain, streaming=False)
    extended = await client.get_extended_agent_card(GetExtendedAgentCardRequest())
    with pytest.raises(ValueError, match="no compatible transports"):
        await client_of(plain, supported_protocol_bindings=["HTTP+JSON"])
    await client.close()

    assert (card.name, extended) == ("Joker", card)
    assert [each.protocol_binding for each in card.supported_interfaces] == ["JSONRPC"]


@pytest.mark.behaviour("a2a.agent")
async def test_agent_frameworks_agent_waits_in_the_background(plain: httpx.AsyncClient) -> None:
    """By polls, or by a stream that goes on with the task, which needs the agent's card."""
    from a2a.client import A2ACardResolver
    from agent_framework_a2a import A2AAgent

    card = await A2ACardResolver(plain, f"{URL}/Joker").get_agent_card()
    async with A2AAgent(agent_card=card, http_client=plain) as joker:
        begun = await joker.run("sleep 0.2", background=True)
        async with asyncio.timeout(GUARD_SECONDS):
            polled = begun
            while polled.continuation_token is not None:
                await asyncio.sleep(0)
                polled = await joker.poll_task(polled.continuation_token)
        again = await joker.run("sleep 0.3", background=True)
        stream = joker.run(stream=True, continuation_token=again.continuation_token)
        followed = "".join([update.text async for update in stream])

    assert begun.continuation_token is not None
    assert (polled.text, followed) == ("echo: sleep 0.2", "echo: sleep 0.3")


@pytest.mark.behaviour("a2a.agent")
async def test_agent_frameworks_agent_gets_files_and_is_a_tool(plain: httpx.AsyncClient) -> None:
    """Of another agent; it is made of a card too."""
    from a2a.client import A2ACardResolver
    from agent_framework import Content, Message
    from agent_framework_a2a import A2AAgent

    card = await A2ACardResolver(plain, f"{URL}/Joker").get_agent_card()
    async with A2AAgent(agent_card=card, http_client=plain, timeout=GUARD_SECONDS) as joker:
        linked = Content.from_uri("https://example.com/b.jpg", media_type="image/jpeg")
        seen = await joker.run(Message("user", [Content.from_text("see"), linked]))
        asked = await joker.as_tool(name="joker", arg_name="task").invoke(arguments={"task": "hello"})

        session = joker.create_session()
        await joker.run("my name is Ada", session=session)
        later = joker.get_session(session.service_session_id)
        recalled = await joker.run("recall", session=later)

    assert recalled.text == "my name is Ada | recall"
    assert (joker.name, seen.text) == ("Joker", "user text:see uri:https://example.com/b.jpg")
    assert [content.text for content in asked] == ["echo: hello"]
