"""What the protocol's test kit wants of an agent made for it, and cannot be asked of another (test-kits.md)."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from agent_framework import Agent

from tests.hosting.features.a2a.wired import Wired
from tests.support.a2a import answer_of, message
from tests.support.app.scripted import ScriptedClient
from tests.support.made_app import app_of, served

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


@pytest.mark.behaviour("a2a.refused")
@pytest.mark.parametrize("method", ["SendMessage", "SendStreamingMessage"])
async def test_a_part_of_an_unknown_type_is_refused_by_its_own_error(wired: Wired, method: str) -> None:
    """The rule of CORE-SEND-003, with the kit's message; a stream does not begin."""
    unknown = {"raw": "dGNr", "mediaType": "application/x-unsupported-tck-type"}
    error = (await wired.rpc(method, "Kit", message=message("", contextId="c", parts=[unknown])))["error"]

    assert (error["code"], error["data"][0]["reason"]) == (-32005, "CONTENT_TYPE_NOT_SUPPORTED")
    assert (await wired.result("ListTasks", "Kit", contextId="c"))["tasks"] == []
