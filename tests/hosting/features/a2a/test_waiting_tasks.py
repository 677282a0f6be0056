"""Tasks that wait for a person or for a tool of the caller, and what answers them."""

from __future__ import annotations

from typing import Any

import pytest
from agent_framework import FunctionTool

from tests.hosting.features.a2a.wired import Wired
from tests.support.a2a import answer_of, message
from tests.support.signer import LINK, signer

PICTURE = "iVBORw0KGgo="


@pytest.mark.behaviour("a2a.approvals")
@pytest.mark.parametrize(
    ("parts", "answer", "notes"),
    [
        ([{"text": "Approve."}], "told: refunded 7", 1),
        ([{"text": "No, ask Ada first."}], "told: ", 0),
        ([{"data": {"approvals": [{"id": "ID", "approved": True}]}}], "told: refunded 7", 1),
        (
            [{"data": {"approvals": [{"id": "ID", "approved": True, "arguments": {"n": "8"}}]}}],
            "told: A person changed",
            1,
        ),
        ([{"data": {"approvals": [{"id": "ID", "approved": False, "reason": "no"}]}}], "told: ", 0),
    ],
)
async def test_a_tool_call_that_waits_is_answered_by_a_message_to_the_task(
    wired: Wired, parts: list[dict[str, Any]], answer: str, notes: int
) -> None:
    """By a text or by data; the task goes on under its id, and a repeated answer changes nothing."""
    task = await wired.send("call refund 7", "Clerk")
    asked = task["status"]["message"]["parts"][1]["data"]["approvals"][0]
    parts = [{**part, "data": replaced(part["data"], asked["id"])} if "data" in part else part for part in parts]
    sent = message("", parts=parts, taskId=task["id"])
    done = (await wired.result("SendMessage", "Clerk", message=sent))["task"]
    again = (await wired.result("SendMessage", "Clerk", message=sent))["task"]

    assert task["status"]["state"] == "TASK_STATE_INPUT_REQUIRED"
    assert (asked["tool"], asked["arguments"]) == ("refund", {"n": "7"})
    assert answer_of(task) == "One moment."
    assert (done["id"], done["contextId"]) == (task["id"], task["contextId"])
    assert (done["status"]["state"], answer_of(done).startswith(answer)) == ("TASK_STATE_COMPLETED", True)
    assert [len(artifact["parts"]) for artifact in done["artifacts"]] == [1, 1]
    assert [one["role"] for one in done["history"]] == ["ROLE_USER", "ROLE_AGENT", "ROLE_USER"]
    assert (done["history"][1], done["history"][2]["messageId"]) == (task["status"]["message"], sent["messageId"])
    assert again == done == await wired.result("GetTask", "Clerk", id=task["id"])
    assert len(wired.notes) == notes


def replaced(data: dict[str, Any], identifier: str) -> dict[str, Any]:
    return {"approvals": [{**one, "id": identifier} for one in data["approvals"]]}


@pytest.mark.behaviour("a2a.approvals")
async def test_what_does_not_answer_a_task_that_waits_is_refused(wired: Wired) -> None:
    task = await wired.send("call refund 7, refund 8", "Clerk")
    ids = [one["id"] for one in task["status"]["message"]["parts"][1]["data"]["approvals"]]
    one = {"data": {"approvals": [{"id": ids[0], "approved": True}]}}

    for parts, said in (
        ([one], "The answer on refund is missing. Send all answers together."),
        ([{"data": {"approvals": []}}], "data.approvals must be a list of"),
        ([{"raw": PICTURE}], "The task waits for an approval. Answer with a text"),
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
@pytest.mark.parametrize(("sent", "result"), [({"value": {"x": 1}}, '{"x": 1}'), ({"error": "lost"}, "Error: lost")])
async def test_a_tool_of_the_caller_is_answered_by_a_data_part(wired: Wired, sent: dict[str, Any], result: str) -> None:
    """The task says what is called, and goes on with the result."""
    where = FunctionTool(name="where", func=None, description="Where the person is.")
    wired.app.agents["Clerk"].default_options["tools"].append(where)  # type: ignore[attr-defined]
    task = await wired.send("call where 7", "Clerk")
    text, data = task["status"]["message"]["parts"]
    (call,) = data["data"]["approvals"]
    answer = message("", parts=[{"data": {"approvals": [{"id": call["id"], **sent}]}}], taskId=task["id"])
    ended = (await wired.result("SendMessage", "Clerk", message=answer))["task"]

    assert task["status"]["state"] == "TASK_STATE_INPUT_REQUIRED"
    assert text["text"].startswith('Waits for your result of: where({"n": "7"}).')
    assert (call["kind"], call["tool"], call["arguments"]) == ("client_tool", "where", {"n": "7"})
    assert ended["status"]["state"] == "TASK_STATE_COMPLETED"
    assert ended["artifacts"][-1]["parts"] == [{"text": f"told: {result}"}]


@pytest.mark.behaviour("authorizations.answered")
async def test_a_task_whose_tool_needs_a_sign_in_is_at_auth_required(wired: Wired) -> None:
    """With the link, and goes on as the same task once the user says so, in a text."""
    wired.app.agents["Clerk"].default_options["tools"] += signer(wired.notes.append).default_options["tools"]  # type: ignore[attr-defined]
    task = await wired.send("call push 7", "Clerk")
    answer = message("approve", taskId=task["id"])
    end = (await wired.result("SendMessage", "Clerk", message=answer))["task"]

    text, data = task["status"]["message"]["parts"]
    assert task["status"]["state"] == "TASK_STATE_AUTH_REQUIRED"
    assert text["text"].startswith(
        f"Waits for the user to: push: sign in to GitHub (repo) at {LINK}. Then: Answer with"
    )
    (asked,) = data["data"]["approvals"]
    assert (asked["kind"], asked["authorization"]["url"]) == ("authorization", LINK)
    assert (end["id"], end["status"]["state"]) == (task["id"], "TASK_STATE_COMPLETED")
    assert wired.notes == ["reserve 7", "push 7"]
