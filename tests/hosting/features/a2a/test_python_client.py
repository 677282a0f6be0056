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
AT_ONCE = {"return_immediately": True}


@pytest.fixture
def types() -> Any:
    return pytest.importorskip("a2a.types", reason="a2a-sdk is not installed")


def plain_client(wired: Wired) -> httpx.AsyncClient:
    """Return an HTTP client of the app without a header of ours, as an official client brings its own."""
    transport = httpx.ASGITransport(wired.host.asgi, raise_app_exceptions=False)
    return httpx.AsyncClient(transport=transport, timeout=GUARD_SECONDS)


@pytest.fixture
async def plain(wired: Wired, types: Any) -> AsyncIterator[httpx.AsyncClient]:
    async with plain_client(wired) as http:
        yield http


async def client_of(http: httpx.AsyncClient, agent: str = "Joker", **options: Any) -> Any:
    """Return the client of an agent, by its card."""
    from a2a.client import ClientConfig, create_client

    return await create_client(f"{URL}/{agent}", ClientConfig(httpx_client=http, **{"streaming": False, **options}))


def request(*parts: Any, configuration: Any = None, message_id: str = "", **fields: Any) -> Any:
    """Return a message of a user; a text is a part."""
    from a2a.types import Message, Part, Role, SendMessageConfiguration, SendMessageRequest

    made = [Part(text=part) if isinstance(part, str) else part for part in parts]
    named = message_id or f"m-{next(NUMBERS)}"
    return SendMessageRequest(
        message=Message(message_id=named, role=Role.ROLE_USER, parts=made, **fields),
        configuration=SendMessageConfiguration(**(configuration or {})),
    )


async def task_of(client: Any, *parts: Any, **fields: Any) -> Any:
    """Return the task of a message, of a client that does not stream."""
    [response] = [response async for response in client.send_message(request(*parts, **fields))]
    return response.task


def text_of(task: Any) -> str:
    return "".join(part.text for part in task.artifacts[-1].parts)


def shown(part: Any) -> tuple[str, Any, str, str]:
    """Return the kind of a part with its content, its name and its type."""
    kind = part.WhichOneof("content")
    value = {"a": part.data.struct_value["key"]} if kind == "data" else getattr(part, kind)
    return kind, value, part.filename, part.media_type


async def test_the_client_chats_reads_lists_and_cancels(plain: httpx.AsyncClient, types: Any) -> None:
    """A part of the tasks by state and page by page, with a part of their history, with or without artifacts."""
    client = await client_of(plain)
    first = await task_of(client, "my name is Ada")
    within = {"context_id": first.context_id}
    second = await task_of(client, "recall", **within)
    failed = await task_of(client, "fail", **within)
    working = await task_of(client, "sleep 60", configuration=AT_ONCE)
    canceled = await client.cancel_task(types.CancelTaskRequest(id=working.id))
    read = await client.get_task(types.GetTaskRequest(id=second.id))
    bare = await client.get_task(types.GetTaskRequest(id=second.id, history_length=0))

    async def listed(**fields: Any) -> Any:
        return await client.list_tasks(types.ListTasksRequest(**within, **fields))

    newest = await listed(page_size=2, include_artifacts=True)
    rest = await listed(page_size=2, page_token=newest.next_page_token)
    only_failed = await listed(status=types.TaskState.TASK_STATE_FAILED)

    assert (text_of(second), read, len(bare.history)) == ("my name is Ada | recall", second, 0)
    assert [task.id for task in (*newest.tasks, *rest.tasks)] == [failed.id, second.id, first.id]
    assert ([task.id for task in only_failed.tasks], newest.total_size) == ([failed.id], 3)
    assert [len(task.artifacts) for task in (newest.tasks[1], rest.tasks[0])] == [1, 0]
    assert canceled.status.state == types.TaskState.TASK_STATE_CANCELED


async def test_the_client_reads_the_card_and_sends_the_key_that_it_asks_for(plain: httpx.AsyncClient) -> None:
    """A program gives it the key. The extended card is the public one; without JSON-RPC there is no way to talk."""
    from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
    from a2a.client.auth import AuthInterceptor, CredentialService
    from a2a.types import GetExtendedAgentCardRequest

    class Keys(CredentialService):
        async def get_credentials(self, name: str, context: object) -> str | None:
            return {"functionKey": "the key"}.get(name)

    sent: list[str | None] = []

    async def note(request: httpx.Request) -> None:
        sent.append(request.headers.get("x-functions-key"))

    card = await A2ACardResolver(plain, f"{URL}/Joker").get_agent_card()
    plain.event_hooks["request"].append(note)
    factory = ClientFactory(ClientConfig(httpx_client=plain, streaming=False))
    client = await factory.create_from_url(f"{URL}/Joker", interceptors=[AuthInterceptor(Keys())])
    await task_of(client, "hello")
    extended = await client.get_extended_agent_card(GetExtendedAgentCardRequest())
    with pytest.raises(ValueError, match="no compatible transports"):
        await client_of(plain, supported_protocol_bindings=["HTTP+JSON"])
    await client.close()

    assert sent[:2] == [None, "the key"]  # the card, and the message
    assert (card.name, extended) == ("Joker", card)
    assert [each.protocol_binding for each in card.supported_interfaces] == ["JSONRPC"]


async def test_the_client_streams_subscribes_and_polls(plain: httpx.AsyncClient, types: Any) -> None:
    """The task first, then what changes; or the task at once, and its end by reading."""
    client, polling = await client_of(plain, streaming=True), await client_of(plain, polling=True)
    stream = [response async for response in client.send_message(request("say one two"))]
    working = await task_of(polling, "sleep 0.1")
    followed = [response async for response in client.subscribe(types.SubscribeToTaskRequest(id=working.id))]
    over = await polling.get_task(types.GetTaskRequest(id=working.id))

    kinds = [kind for kind, _ in itertools.groupby(response.WhichOneof("payload") for response in stream)]
    assert kinds == ["task", "status_update", "artifact_update", "status_update"]
    assert "".join(response.artifact_update.artifact.parts[0].text for response in stream[2:-1]) == "one two"
    assert followed[0].task.id == working.id
    assert followed[-1].status_update.status.state == over.status.state == types.TaskState.TASK_STATE_COMPLETED


@pytest.mark.behaviour("a2a.parts")
@pytest.mark.behaviour("a2a.artifacts")
async def test_the_client_sends_and_gets_files_by_bytes_and_by_address_and_values(
    plain: httpx.AsyncClient, types: Any
) -> None:
    """With names and types, in the task's history and as parts of artifacts; JSON where it takes that alone."""
    from google.protobuf.json_format import ParseDict
    from google.protobuf.struct_pb2 import Value

    picture = types.Part(raw=PNG, media_type="image/png", filename="a.png")
    link = types.Part(url="https://example.com/b.jpg", media_type="image/jpeg")
    seen = await task_of(await client_of(plain), "see", picture, link, types.Part(data=ParseDict({"a": 1}, Value())))
    kit = await client_of(plain, "Kit")
    got = [
        shown((await task_of(kit, "give", message_id=scenario)).artifacts[0].parts[0])
        for scenario in ("tck-artifact-file", "tck-artifact-file-url", "tck-artifact-data")
    ]
    json_alone = await client_of(plain, accepted_output_modes=["application/json"])
    value = await task_of(json_alone, 'say {"key": 2}')

    assert text_of(seen) == (
        'user text:see data:a.png:data:image/png;base64,iVBORw0KGgo= uri:https://example.com/b.jpg text:{"a": 1.0}'
    )
    assert [part.WhichOneof("content") for part in seen.history[0].parts] == ["text", "raw", "url", "text"]
    assert got == [
        ("raw", b"From a file.", "output.txt", "text/plain"),
        ("url", "https://example.com/output.txt", "output.txt", "text/plain"),
        ("data", {"a": "value"}, "", "application/json"),
    ]
    assert shown(value.artifacts[0].parts[-1])[:2] == ("data", {"a": 2.0})


async def test_the_client_approves_and_gets_its_own_errors(plain: httpx.AsyncClient, types: Any) -> None:
    """By code, with our message and code; also before a stream."""
    from a2a.utils import errors

    client, following = await client_of(plain, "Clerk"), await client_of(plain, "Clerk", streaming=True)
    waiting = await task_of(client, "call refund 7")
    over = await task_of(client, "approve", task_id=waiting.id)
    with pytest.raises(errors.TaskNotFoundError, match="There is no task 'x'") as refused:
        await client.get_task(types.GetTaskRequest(id="x"))
    with pytest.raises(errors.TaskNotCancelableError):
        await client.cancel_task(types.CancelTaskRequest(id=over.id))
    with pytest.raises(errors.UnsupportedOperationError):
        await task_of(client, "more", task_id=over.id)
    with pytest.raises(errors.UnsupportedOperationError):
        [response async for response in following.subscribe(types.SubscribeToTaskRequest(id=over.id))]
    with pytest.raises(errors.PushNotificationNotSupportedError):
        await client.create_task_push_notification_config(types.TaskPushNotificationConfig(task_id=over.id, url="u"))

    assert waiting.status.message.parts[1].data.struct_value["approvals"][0]["tool"] == "refund"
    assert (over.id, text_of(over)) == (waiting.id, "told: refunded 7")
    assert refused.value.data == {"code": "unknown_run"}


@pytest.mark.behaviour("a2a.push")
async def test_the_client_names_reads_lists_and_deletes_receivers_and_reads_what_they_get(types: Any) -> None:
    """By its own types; one for all its messages, too."""
    from google.protobuf.json_format import ParseDict

    async with receiving() as receiver, plain_client(Wired(WEBHOOKS)) as http:
        client = await client_of(http, "Clerk")
        task = (await task_of(client, "call refund 7")).id
        wanted, all_of_task = {"task_id": task, "id": "c"}, types.ListTaskPushNotificationConfigsRequest(task_id=task)
        named = await client.create_task_push_notification_config(
            types.TaskPushNotificationConfig(**wanted, url=receiver.url, token="n")
        )
        received = await receiver.next()
        read = await client.get_task_push_notification_config(types.GetTaskPushNotificationConfigRequest(**wanted))
        listed = await client.list_task_push_notification_configs(all_of_task)
        await client.delete_task_push_notification_config(types.DeleteTaskPushNotificationConfigRequest(**wanted))
        left = await client.list_task_push_notification_configs(all_of_task)
        config = types.TaskPushNotificationConfig(id="c", url=receiver.url, token="n")
        of_all = await task_of(await client_of(http, push_notification_config=config), "hello")
        last = await receiver.next()

    update = ParseDict(received.message, types.StreamResponse()).status_update
    assert named == read == listed.configs[0]
    assert (read.id, read.task_id, read.token, len(left.configs)) == ("c", task, "n", 0)
    assert (update.task_id, update.status.state) == (task, types.TaskState.TASK_STATE_INPUT_REQUIRED)
    assert last.message["statusUpdate"]["taskId"] == of_all.id


@pytest.mark.behaviour("a2a.agent")
async def test_agent_frameworks_agent_chats_streams_and_approves(wired: Wired, plain: httpx.AsyncClient) -> None:
    """In one session, whose context is a thread here; it sends files and gets the protocol's errors."""
    from a2a.utils.errors import InvalidParamsError
    from agent_framework import Content, Message
    from agent_framework_a2a import A2AAgent

    async with A2AAgent(name="Joker", url=f"{URL}/Joker", http_client=plain) as joker:
        session = joker.create_session()
        await joker.run("my name is Ada", session=session)
        recalled = await joker.run("recall", session=joker.get_session(session.service_session_id))
        words = [update.text async for update in joker.run("say one two", session=session, stream=True)]
        picture = Content.from_uri("data:image/png;base64,iVBORw0KGgo=", media_type="image/png")
        linked = Content.from_uri("https://example.com/b.jpg", media_type="image/jpeg")
        seen = await joker.run(Message("user", [Content.from_text("see"), picture, linked]))
        with pytest.raises(InvalidParamsError, match="The message is blank"):
            await joker.run(" ", session=session)
    async with A2AAgent(name="Clerk", url=f"{URL}/Clerk", http_client=plain) as clerk:
        session = clerk.create_session()
        waiting = await clerk.run("call refund 7", session=session)
        done = await clerk.run("approve", session=session)

    assert recalled.text == "my name is Ada | recall"
    assert seen.text == "user text:see data:data:image/png;base64,iVBORw0KGgo= uri:https://example.com/b.jpg"
    assert "".join(words) == "one two"
    assert "Waits for a person's approval of: refund" in waiting.text
    assert done.text.endswith("told: refunded 7")
    assert len(wired.notes) == 1


@pytest.mark.behaviour("a2a.agent")
async def test_agent_frameworks_agent_waits_in_the_background_and_is_a_tool(plain: httpx.AsyncClient) -> None:
    """By polls, or by a stream that goes on with the task, which needs the agent's card."""
    from a2a.client import A2ACardResolver
    from agent_framework_a2a import A2AAgent

    card = await A2ACardResolver(plain, f"{URL}/Joker").get_agent_card()
    async with A2AAgent(agent_card=card, http_client=plain, timeout=GUARD_SECONDS) as joker:
        begun = polled = await joker.run("sleep 0.1", background=True)
        async with asyncio.timeout(GUARD_SECONDS):
            while polled.continuation_token is not None:
                await asyncio.sleep(0)
                polled = await joker.poll_task(polled.continuation_token)
        again = await joker.run("sleep 0.2", background=True)
        stream = joker.run(stream=True, continuation_token=again.continuation_token)
        followed = "".join([update.text async for update in stream])
        asked = await joker.as_tool(name="joker", arg_name="task").invoke(arguments={"task": "hello"})

    assert begun.continuation_token is not None
    assert (joker.name, polled.text, followed) == ("Joker", "echo: sleep 0.1", "echo: sleep 0.2")
    assert [content.text for content in asked] == ["echo: hello"]
