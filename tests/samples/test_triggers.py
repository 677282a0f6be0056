"""The samples with triggers, their functions called as the worker calls them."""

from __future__ import annotations

import asyncio
import base64
import json
import runpy
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from azure.core.exceptions import ResourceNotFoundError
from azure.storage.queue.aio import QueueClient, QueueServiceClient

from tests.samples.folders import SAMPLES, copy_app
from tests.support.azurite import Azurite
from tests.support.deliveries import Out, blob, bus_message, queued
from tests.support.direct import DirectHost
from tests.support.running_host import RunningHost

GUARD_SECONDS = 60.0
pytestmark = pytest.mark.behaviour("samples.triggers")


def sample(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> DirectHost:
    """Return a sample's app."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("AGENT_LOG", "memory")
    return DirectHost(runpy.run_path(str(SAMPLES / name / "function_app.py"))["app"])


async def test_the_inbox_is_answered_by_the_threads_of_its_customers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    host, answers = sample("queue_inbox", tmp_path, monkeypatch), Out()

    for tries in (1, 2):
        message = queued('{"customer": "c1", "text": "Hello"}', tries=tries)
        await host.trigger("inbox", message=message, answers=answers)

    first, again = map(json.loads, answers.values)
    assert first == again
    assert (first["customer"], "Hello" in first["answer"]) == ("c1", True)


async def test_a_document_is_summarised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    host, summary = sample("blob_summary", tmp_path, monkeypatch), Out()

    await host.trigger("documents", document=blob(b"The cat sat on the mat.", "documents/a.txt"), summary=summary)

    assert "The cat sat" in summary.values[0]


async def test_the_messages_of_an_order_are_one_thread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    host = sample("bus_orders", tmp_path, monkeypatch)

    for number, text in enumerate(("paid", " ", "sent"), 1):
        await host.trigger("order", message=bus_message(text, f"m{number}", number, session="order-7"))
    await host.entities.idle()

    (state,) = host.entities.states.values()
    entries = json.loads(state)["data"]["conversationHistory"]
    asked = [entry["messages"][0]["contents"][0]["text"] for entry in entries if entry["$type"] == "request"]
    assert asked == ["paid", "sent"]


@pytest.mark.slow
async def test_the_inbox_answers_messages_of_a_real_queue_and_gives_up_one(tmp_path: Path, azurite: Azurite) -> None:
    """Each body has the same member `id`. One without a customer becomes poison, and the others are answered."""
    account = QueueServiceClient.from_connection_string(azurite.connection_string)
    bodies = [{"id": "x", "customer": f"c{number % 3}", "text": f"message {number}"} for number in range(8)]
    async with account:
        inbox, answers, poison = (account.get_queue_client(name) for name in ("inbox", "answers", "inbox-poison"))
        await inbox.create_queue()
        environ = {"AzureWebJobsStorage": azurite.connection_string, "AGENT_LOG": "sqlite:.agents/log.sqlite"}
        with RunningHost(copy_app("queue_inbox", tmp_path), environ=environ):
            for body in ({"text": "whose?"}, *bodies):
                await inbox.send_message(base64.b64encode(json.dumps(body).encode()).decode())
            answered = await asyncio.wait_for(taken(answers, len(bodies)), GUARD_SECONDS)
            given_up = await asyncio.wait_for(taken(poison, 1), GUARD_SECONDS)

    assert {answer["answer"].split('"')[1] for answer in answered} == {body["text"] for body in bodies}
    assert len({answer["run_id"] for answer in answered}) == len(bodies)
    assert given_up == [{"text": "whose?"}]


async def taken(queue: QueueClient, count: int) -> list[Any]:
    """Return so many messages of a queue, once they are there."""
    messages = list[Any]()
    while len(messages) < count:
        with suppress(ResourceNotFoundError):  # the host makes it with its first message
            async for message in queue.receive_messages(visibility_timeout=300):
                messages.append(json.loads(base64.b64decode(message.content)))
        await asyncio.sleep(0.05)
    return messages
