"""Tasks as streams, and those that wait for a person or for a tool of the caller."""

from __future__ import annotations

import asyncio
import base64
import itertools
import json
from typing import Any

import pytest
from agent_framework import FunctionTool

from tests.hosting.features.a2a.wired import Wired
from tests.support.a2a import answer_of, message, taken
from tests.support.carriers import GUARD_SECONDS
from tests.support.owned_app import signed_in
from tests.support.signer import LINK, signer

ADA, BOB = {"x-user": "ada"}, {"x-user": "bob"}
WAITS, DONE = "TASK_STATE_INPUT_REQUIRED", "TASK_STATE_COMPLETED"


def shown(task: dict[str, Any]) -> dict[str, Any]:
    return taken([{"task": task}])


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


@pytest.mark.behaviour("a2a.owners")
async def test_anothers_tasks_are_not_there() -> None:
    """Not read, followed, continued, canceled or listed; the card is for all."""
    wired = Wired(principal=signed_in)
    sent = message("my secret", contextId="mine")
    task = (await wired.result("SendMessage", headers=ADA, message=sent))["task"]
    methods = ("GetTask", "SubscribeToTask", "CancelTask")
    tried = [await wired.rpc(method, headers=BOB, id=task["id"]) for method in methods]
    tried.append(await wired.rpc("SendMessage", headers=BOB, message=message("x", taskId=task["id"])))
    lists = [
        await wired.result("ListTasks", headers=who, **fields)
        for who in (BOB, ADA)
        for fields in ({}, {"contextId": "mine"})
    ]
    unsigned = await wired.http.post("Joker", json={"jsonrpc": "2.0", "id": 1, "method": "ListTasks"})
    card = await wired.http.get("Joker/.well-known/agent-card.json")
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


@pytest.mark.behaviour("a2a.context-metadata")
async def test_a_message_sets_the_metadata_of_its_context(wired: Wired) -> None:
    """With the run; the tasks before it show it too, and our own route has it."""
    sent, metadata = message("one", contextId="t"), {"thread_metadata": {"team": "red", "size": 3}}
    first = (await wired.result("SendMessage", message=sent, metadata=metadata))["task"]
    later = await wired.send("two", contextId="t", metadata={"thread_metadata": {"size": None, "pinned": True}, "a": 1})
    read = await wired.result("GetTask", id=first["id"])
    listed = (await wired.result("ListTasks", contextId="t"))["tasks"]
    thread = (await wired.ours("GET", "Joker/threads/t")).json()

    after = {"team": "red", "pinned": True}
    assert first["metadata"] == metadata
    assert later["metadata"] == {"a": 1, "thread_metadata": after}
    assert [read["metadata"], *(task["metadata"]["thread_metadata"] for task in listed)] == [
        {"thread_metadata": after},
        *(after,) * 2,
    ]
    assert thread["metadata"] == after


APPROVED: dict[str, Any] = {"approvals": [{"id": "ID", "approved": True, "arguments": {"n": "8"}}]}


@pytest.mark.behaviour("a2a.approvals")
@pytest.mark.parametrize(
    ("part", "answer", "notes"),
    [
        ({"text": "Approve."}, "told: refunded 7", 1),
        ({"text": "No, ask Ada first."}, "told: ", 0),
        ({"data": APPROVED}, "told: A person changed", 1),
        ({"data": {"approvals": [{"id": "ID", "approved": False, "reason": "no"}]}}, "told: ", 0),
    ],
)
async def test_a_tool_call_that_waits_is_answered_by_a_message_to_the_task(
    wired: Wired, part: dict[str, Any], answer: str, notes: int
) -> None:
    """By a text or by data; the task goes on under its id, and a repeated answer changes nothing."""
    task = await wired.send("call refund 7", "Clerk")
    asked = task["status"]["message"]["parts"][1]["data"]["approvals"][0]
    sent = message("", parts=[json.loads(json.dumps(part).replace("ID", asked["id"]))], taskId=task["id"])
    done, again = [(await wired.result("SendMessage", "Clerk", message=sent))["task"] for _ in range(2)]

    assert (task["status"]["state"], answer_of(task)) == (WAITS, "One moment.")
    assert (asked["tool"], asked["arguments"]) == ("refund", {"n": "7"})
    assert (done["id"], done["contextId"]) == (task["id"], task["contextId"])
    assert (done["status"]["state"], answer_of(done).startswith(answer)) == (DONE, True)
    assert [len(artifact["parts"]) for artifact in done["artifacts"]] == [1, 1]
    assert [one["role"] for one in done["history"]] == ["ROLE_USER", "ROLE_AGENT", "ROLE_USER"]
    assert (done["history"][1], done["history"][2]["messageId"]) == (task["status"]["message"], sent["messageId"])
    assert again == done == await wired.result("GetTask", "Clerk", id=task["id"])
    assert len(wired.notes) == notes


@pytest.mark.behaviour("a2a.approvals")
async def test_what_does_not_answer_a_task_that_waits_is_refused(wired: Wired) -> None:
    task = await wired.send("call refund 7, refund 8", "Clerk")
    ids = [one["id"] for one in task["status"]["message"]["parts"][1]["data"]["approvals"]]
    one = {"data": {"approvals": [{"id": ids[0], "approved": True}]}}

    for parts, said in (
        ([one], "The answer on refund is missing. Send all answers together."),
        ([{"data": {"approvals": []}}], "data.approvals must be a list of"),
        ([{"raw": "iVBORw0KGgo="}], "The task waits for an approval. Answer with a text"),
        ([{"text": " "}], "The answer has 0 characters"),
    ):
        refused = await wired.refused("SendMessage", "Clerk", message=message("", parts=parts, taskId=task["id"]))
        assert refused[0] == -32602
        assert refused[1].startswith(said)
    other = message("approve", taskId=task["id"], contextId="other")
    assert (await wired.refused("SendMessage", "Clerk", message=other))[1].startswith("message.contextId is not")
    of_context = {"message": message("yes", taskId=task["id"]), "metadata": {"thread_metadata": {"a": 1}}}
    said = (await wired.refused("SendMessage", "Clerk", **of_context))[1]
    assert said.startswith("metadata.thread_metadata is for a message that begins a task.")
    new = message("hello", contextId=task["contextId"])
    assert (await wired.refused("SendMessage", "Clerk", message=new))[0] == -32004
    assert (await wired.result("GetTask", "Clerk", id=task["id"])) == task
    assert wired.notes == []


@pytest.mark.behaviour("a2a.client-tools")
async def test_a_tool_of_the_caller_is_shown_and_answered_by_its_value_or_error(wired: Wired) -> None:
    """The task says what is called, and goes on with both results."""
    where = FunctionTool(name="where", func=None, description="Where the person is.")
    wired.app.agents["Clerk"].default_options["tools"].append(where)  # type: ignore[attr-defined]
    task = await wired.send("call where 7, where 8", "Clerk")
    text, data = task["status"]["message"]["parts"]
    calls = data["data"]["approvals"]
    answers = [{"id": calls[0]["id"], "value": {"x": 1}}, {"id": calls[1]["id"], "error": "lost"}]
    ended = await wired.send("", "Clerk", parts=[{"data": {"approvals": answers}}], taskId=task["id"])

    assert (task["status"]["state"], ended["status"]["state"]) == (WAITS, DONE)
    assert text["text"].startswith('Waits for your result of: where({"n": "7"})')
    assert [(call["kind"], call["tool"]) for call in calls] == [("client_tool", "where")] * 2
    assert answer_of(ended) == 'told: {"x": 1} | Error: lost'


@pytest.mark.behaviour("authorizations.answered")
async def test_a_task_whose_tool_needs_a_sign_in_is_at_auth_required(wired: Wired) -> None:
    """With the link, and goes on as the same task once the user says so, in a text."""
    wired.adds_tools(signer(wired.notes.append))
    task = await wired.send("call push 7", "Clerk")
    end = await wired.send("approve", "Clerk", taskId=task["id"])
    text, data = task["status"]["message"]["parts"]
    (asked,) = data["data"]["approvals"]

    assert task["status"]["state"] == "TASK_STATE_AUTH_REQUIRED"
    assert text["text"].startswith(
        f"Waits for the user to: push: sign in to GitHub (repo) at {LINK}. Then: Answer with"
    )
    assert (asked["kind"], asked["authorization"]["url"]) == ("authorization", LINK)
    assert (end["id"], end["status"]["state"], wired.notes) == (task["id"], DONE, ["reserve 7", "push 7"])
