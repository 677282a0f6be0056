"""A context's metadata: set by a message that begins a task, kept by the thread, and shown with each of its tasks."""

from __future__ import annotations

from typing import Any

import pytest

from tests.hosting.features.a2a.wired import Wired
from tests.support.a2a import message

pytestmark = pytest.mark.behaviour("a2a.context-metadata")

THREADS = "http://app.example/api/agents/Joker/threads"


async def sent(wired: Wired, text: str, **metadata: Any) -> dict[str, Any]:
    """Return the task of a message to the context, with metadata of the request."""
    result = await wired.result("SendMessage", message=message(text, contextId="t"), metadata=metadata)
    task: dict[str, Any] = result["task"]
    return task


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


async def test_a_task_shows_what_another_route_wrote(wired: Wired) -> None:
    """Also the task with which a stream begins."""
    task = await sent(wired, "one")
    answer = await wired.http.patch(f"{THREADS}/t/metadata", json={"metadata": {"team": "red"}})
    assert answer.status_code == 200, answer.text
    read = await wired.result("GetTask", id=task["id"])
    stream = await wired.streamed("SendStreamingMessage", message=message("two", contextId="t"))

    assert "metadata" not in task
    assert read["metadata"] == stream[0]["task"]["metadata"] == {"thread_metadata": {"team": "red"}}


@pytest.mark.parametrize(
    ("params", "sentence"),
    [
        ({"metadata": {"thread_metadata": []}}, "The field 'metadata.thread_metadata' is not an object."),
        ({"metadata": {"thread_metadata": {"a": {}}}}, "the member 'a' is no single value."),
        (
            {
                "metadata": {"thread_metadata": {"a": 1}},
                "message": message("x", metadata={"thread_metadata": {"a": 1}}),
            },
            "The fields 'metadata.thread_metadata' and 'message.metadata.thread_metadata' are both there.",
        ),
    ],
    ids=["list", "nested", "twice"],
)
async def test_other_metadata_of_a_context_is_refused(wired: Wired, params: dict[str, Any], sentence: str) -> None:
    """By its place."""
    code, detail = await wired.refused("SendMessage", **{"message": message("x"), **params})

    assert (code, sentence in detail) == (-32602, True), detail


async def test_an_answer_to_a_task_sets_none(wired: Wired) -> None:
    """It would be lost, where the answer finds that it was given."""
    waits = await wired.send("call refund 7", "Clerk")
    answer = message("approve", taskId=waits["id"], contextId=waits["contextId"])
    code, detail = await wired.refused("SendMessage", "Clerk", message=answer, metadata={"thread_metadata": {"a": 1}})

    assert (code, detail) == (
        -32602,
        "metadata.thread_metadata is for a message that begins a task. Send it without taskId.",
    )
