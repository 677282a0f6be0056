"""Tasks as streams: begun, subscribed to, continued by an approval, canceled, deleted."""

from __future__ import annotations

import asyncio
import base64
import itertools
import json
from typing import Any

import pytest
from agent_framework import Agent

from tests.hosting.features.a2a.wired import Wired
from tests.support.a2a import answer_of, message, taken
from tests.support.app.scripted import ScriptedClient
from tests.support.carriers import GUARD_SECONDS
from tests.support.made_app import app_of, served
from tests.support.owned_app import signed_in


@pytest.mark.behaviour("a2a.stream")
async def test_a_task_is_streamed_as_the_agent_speaks(wired: Wired) -> None:
    """It comes first; its words are appended to one artifact; what a reader has at the end is what GetTask shows."""
    stream = await wired.streamed("SendStreamingMessage", message=message("say one two three"))
    task = await wired.result("GetTask", id=stream[0]["task"]["id"])

    kinds = [next(iter(payload)) for payload in stream]
    assert [kind for kind, _ in itertools.groupby(kinds)] == ["task", "statusUpdate", "artifactUpdate", "statusUpdate"]
    appends = [payload["artifactUpdate"]["append"] for payload in stream[2:-1]]
    assert appends == [False, *[True] * (len(appends) - 1)]
    assert stream[0]["task"]["status"]["state"] == "TASK_STATE_SUBMITTED"
    assert stream[1]["statusUpdate"]["status"]["state"] == "TASK_STATE_WORKING"
    assert taken(stream) == shown(task)
    assert answer_of(task) == "one two three"


def shown(task: dict[str, Any]) -> dict[str, Any]:
    return taken([{"task": task}])


@pytest.mark.behaviour("a2a.subscribe")
async def test_a_subscriber_gets_the_task_as_it_stands_and_what_follows(wired: Wired) -> None:
    """Two at once get the same; a task that is over has nothing to follow."""
    task = await wired.send("sleep 0.2", configuration={"returnImmediately": True})
    streams = await asyncio.gather(*(wired.streamed("SubscribeToTask", id=task["id"]) for _ in range(2)))
    over = await wired.result("GetTask", id=task["id"])

    for stream in streams:
        assert stream[0]["task"]["id"] == task["id"]
        assert taken(stream) == shown(over)
    code, said = await wired.refused("SubscribeToTask", id=task["id"])
    assert (code, said) == (-32004, "The task is over and sends nothing more. Read it with GetTask.")


@pytest.mark.behaviour("a2a.subscribe")
async def test_a_subscriber_stays_while_a_task_waits_for_a_person(wired: Wired) -> None:
    """The stream that began it ends there; an answer may be streamed as well."""
    begun = await wired.streamed("SendStreamingMessage", "Clerk", message=message("call refund 7"))
    identifier = begun[0]["task"]["id"]
    following = asyncio.ensure_future(wired.streamed("SubscribeToTask", "Clerk", id=identifier))
    answered = await wired.streamed("SendStreamingMessage", "Clerk", message=message("yes", taskId=identifier))
    followed = await asyncio.wait_for(following, GUARD_SECONDS)
    task = await wired.result("GetTask", "Clerk", id=identifier)

    assert begun[-1]["statusUpdate"]["status"]["state"] == "TASK_STATE_INPUT_REQUIRED"
    assert answered[0]["task"]["id"] == identifier
    assert answered[0]["task"]["status"]["state"] != "TASK_STATE_INPUT_REQUIRED"
    assert taken(answered) == taken(followed) == shown(task)
    assert answer_of(task) == "told: refunded 7"


@pytest.mark.behaviour("service.leave")
async def test_a_subscriber_is_let_go_of_when_the_process_ends(wired: Wired) -> None:
    """A person may take a week, and the process waits for nobody."""
    begun = await wired.streamed("SendStreamingMessage", "Clerk", message=message("call refund 7"))
    params = {"id": begun[0]["task"]["id"]}
    request = {"jsonrpc": "2.0", "id": 1, "method": "SubscribeToTask", "params": params}
    following = asyncio.ensure_future(wired.http.post("Clerk", json=request))
    await asyncio.sleep(0.02)

    await wired.app._services.holders.drain(0.0)
    answer = await asyncio.wait_for(following, GUARD_SECONDS)

    said = json.loads(answer.text.strip().splitlines()[-1].removeprefix("data: "))["error"]["message"]
    assert said == "The function that sends this stream is about to end. Subscribe again."


ADA, BOB = {"x-user": "ada"}, {"x-user": "bob"}


@pytest.mark.behaviour("a2a.owners")
async def test_anothers_tasks_are_not_there() -> None:
    """Not read, followed, continued, canceled or listed; the card is for all."""
    wired = Wired(principal=signed_in)
    async with wired.http as http:
        sent = message("my secret", contextId="mine")
        task = (await wired.result("SendMessage", headers=ADA, message=sent))["task"]
        tried = [
            await wired.rpc("GetTask", headers=BOB, id=task["id"]),
            await wired.rpc("SubscribeToTask", headers=BOB, id=task["id"]),
            await wired.rpc("CancelTask", headers=BOB, id=task["id"]),
            await wired.rpc("SendMessage", headers=BOB, message=message("x", taskId=task["id"])),
        ]
        lists = [
            await wired.result("ListTasks", headers=who, **fields)
            for who in (BOB, ADA)
            for fields in ({}, {"contextId": "mine"})
        ]
        unsigned = await http.post("Joker", json={"jsonrpc": "2.0", "id": 1, "method": "ListTasks"})
        card = await http.get("Joker/.well-known/agent-card.json")
        own = await wired.result("GetTask", headers=ADA, id=task["id"])

    assert [answer["error"]["code"] for answer in tried] == [-32001] * len(tried)
    assert "secret" not in str(tried)
    assert [one["totalSize"] for one in lists] == [0, 0, 1, 1]
    assert (unsigned.status_code, unsigned.headers["www-authenticate"]) == (401, "Bearer")
    assert (card.status_code, own) == (200, task)


NAMED = {"filename": "output.txt", "mediaType": "text/plain"}
PARTS: dict[str, dict[str, Any]] = {
    "tck-artifact-text": {"text": "Generated text content"},
    "tck-artifact-file": {"raw": base64.b64encode(b"From a file.").decode(), **NAMED},
    "tck-artifact-file-url": {"url": "https://example.com/output.txt", **NAMED},
    "tck-artifact-data": {"data": {"key": "value", "count": 42}, "mediaType": "application/json"},
}


@pytest.mark.behaviour("a2a.artifacts")
@pytest.mark.parametrize("scenario", PARTS)
async def test_files_have_their_names_and_json_that_is_no_file_is_a_value(wired: Wired, scenario: str) -> None:
    """As the only part of the artifact, where the agent answers with nothing else; a stream has the same."""
    task = await wired.send("TCK artifact test", "Kit", messageId=f"{scenario}-1")
    sent = message("TCK artifact test", messageId=f"{scenario}-2")
    stream = await wired.streamed("SendStreamingMessage", "Kit", message=sent)
    updates = [update["artifactUpdate"]["artifact"] for update in stream if "artifactUpdate" in update]

    assert [artifact["parts"] for artifact in task["artifacts"]] == [[PARTS[scenario]]]
    assert [artifact["parts"] for artifact in updates] == [[PARTS[scenario]]]


@pytest.mark.behaviour("a2a.artifacts")
async def test_an_answer_in_the_agents_own_format_is_a_value_too() -> None:
    """Whether the client asked for JSON or not."""
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
    own = {"type": "json_schema", "json_schema": {"name": "own", "schema": schema}}
    agent = Agent(ScriptedClient(), name="Joker", default_options={"response_format": own})
    async with served(app_of(agent, wires=["a2a"])) as (_, http):
        body = {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message": message('say {"a": 1}')}}
        answer = await http.post("/api/a2a/Joker", json=body, headers={"A2A-Version": "1.0"})

    value = {"data": {"a": 1}, "mediaType": "application/json"}
    assert answer.json()["result"]["task"]["artifacts"][0]["parts"] == [{"text": '{"a": 1}'}, value]


@pytest.mark.behaviour("a2a.approvals")
async def test_each_message_to_a_task_that_waits_again_and_again_is_answered(wired: Wired) -> None:
    """Under one id too, where they differ; the history has all of them, in their order."""
    begun = await wired.send("begin", "Kit", messageId="tck-input-required-1")
    to_it = {"messageId": "tck-input-required-1", "taskId": begun["id"]}
    tasks = [await wired.send(text, "Kit", **to_it) for text in ("begin", "one", "two", "two")]
    ended = await wired.send("three", "Kit", messageId="tck-complete-task-1", taskId=begun["id"])

    assert tasks[0] == begun
    assert tasks[2] == tasks[3]
    assert {task["status"]["state"] for task in tasks} == {"TASK_STATE_INPUT_REQUIRED"}
    assert (ended["status"]["state"], answer_of(ended)) == ("TASK_STATE_COMPLETED", "Hello from TCK")
    sent = [one["parts"] for one in ended["history"] if one["role"] == "ROLE_USER"]
    assert sent == [[{"text": text}] for text in ("begin", "one", "two", "three")]
    assert await wired.result("GetTask", "Kit", id=begun["id"]) == ended


THREADS = "http://app.example/api/agents/Joker/threads"


async def sent(wired: Wired, text: str, **metadata: Any) -> dict[str, Any]:
    """Return the task of a message to the context, with metadata of the request."""
    result = await wired.result("SendMessage", message=message(text, contextId="t"), metadata=metadata)
    task: dict[str, Any] = result["task"]
    return task


@pytest.mark.behaviour("a2a.context-metadata")
async def test_a_message_sets_the_metadata_of_its_context(wired: Wired) -> None:
    """With the run; the tasks before it show it too, and our own route has it."""
    first = await sent(wired, "one", thread_metadata={"team": "red", "size": 3})
    later = await wired.send("two", contextId="t", metadata={"thread_metadata": {"size": None, "pinned": True}, "a": 1})
    read = await wired.result("GetTask", id=first["id"])
    listed = (await wired.result("ListTasks", contextId="t"))["tasks"]
    thread = (await wired.http.get(f"{THREADS}/t")).json()

    after = {"team": "red", "pinned": True}
    assert first["metadata"] == {"thread_metadata": {"team": "red", "size": 3}}
    assert later["metadata"] == {"a": 1, "thread_metadata": after}
    assert [read["metadata"], *(task["metadata"]["thread_metadata"] for task in listed)] == [
        {"thread_metadata": after},
        *(after,) * 2,
    ]
    assert thread["metadata"] == after
