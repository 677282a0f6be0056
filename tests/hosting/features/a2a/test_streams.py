"""Tasks as streams: begun, subscribed to, continued by an approval, canceled, deleted."""

from __future__ import annotations

import asyncio
import itertools
import json
from typing import Any

import pytest

from tests.hosting.features.a2a.wired import Wired
from tests.support.a2a import answer_of, message, taken
from tests.support.carriers import GUARD_SECONDS


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
    """Return what a reader of a stream has of a task."""
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
    assert said == "The process that sends this stream is about to end. Subscribe again."


@pytest.mark.behaviour("a2a.deleted")
async def test_the_stream_of_a_task_whose_thread_is_deleted_ends(wired: Wired) -> None:
    """With the protocol's error, which whoever reads the task gets too."""
    task = await wired.send("sleep 60", configuration={"returnImmediately": True}, contextId="gone")
    request = {"jsonrpc": "2.0", "id": 1, "method": "SubscribeToTask", "params": {"id": task["id"]}}
    following = asyncio.ensure_future(wired.http.post("Joker", json=request))
    await asyncio.sleep(0)
    await wired.http.delete("http://app.example/api/agents/Joker/threads/gone")
    answer = await asyncio.wait_for(following, GUARD_SECONDS)

    assert json.loads(answer.text.strip().splitlines()[-1].removeprefix("data: "))["error"]["code"] == -32001
    assert (await wired.refused("GetTask", id=task["id"]))[0] == -32001
    assert (await wired.result("ListTasks", contextId="gone"))["tasks"] == []
