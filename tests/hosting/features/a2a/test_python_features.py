"""The features of A2A's official client for Python, and of agent-framework's agent over it, one by one.

The clients' packages take two seconds to import, so they are imported where they are used.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from tests.hosting.features.a2a.wired import URL, Wired
from tests.support.carriers import GUARD_SECONDS
from tests.support.receiver import WEBHOOKS, receiving

pytestmark = [pytest.mark.slow, pytest.mark.behaviour("a2a.python-client")]

PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture
async def plain(wired: Wired) -> AsyncIterator[httpx.AsyncClient]:
    """An HTTP client of the app without a header of ours."""
    pytest.importorskip("a2a", reason="a2a-sdk is not installed")
    transport = httpx.ASGITransport(wired.host.asgi, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, timeout=GUARD_SECONDS) as http:
        yield http


async def client_of(http: httpx.AsyncClient, agent: str = "Joker", **options: Any) -> Any:
    """Return the client of an agent, by its card."""
    from a2a.client import ClientConfig, create_client

    return await create_client(f"{URL}/{agent}", ClientConfig(httpx_client=http, **options))


def request(*parts: Any, configuration: Any = None, message_id: str = "m", **fields: Any) -> Any:
    """Return a message of a user; a text is a part."""
    from a2a.types import Message, Part, Role, SendMessageConfiguration, SendMessageRequest

    made = [Part(text=part) if isinstance(part, str) else part for part in parts]
    return SendMessageRequest(
        message=Message(message_id=message_id, role=Role.ROLE_USER, parts=made, **fields),
        configuration=SendMessageConfiguration(**(configuration or {})),
    )


async def task_of(client: Any, sent: Any, **more: Any) -> Any:
    """Return the task of a client that does not stream."""
    [response] = [response async for response in client.send_message(sent, **more)]
    return response.task


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
