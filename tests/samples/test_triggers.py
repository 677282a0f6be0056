"""The samples with triggers, their functions called as the worker calls them."""

from __future__ import annotations

import json
import runpy
from pathlib import Path

import pytest

from tests.samples.folders import SAMPLES
from tests.support.deliveries import Out, blob, bus_message, queued
from tests.support.direct import DirectHost

pytestmark = pytest.mark.behaviour("samples.triggers")


def sample(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> DirectHost:
    """Return a sample's app."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("AGENT_LOG", "memory")
    return DirectHost(runpy.run_path(str(SAMPLES / name / "function_app.py"))["app"])


async def test_the_inbox_is_answered_by_the_threads_of_its_customers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A message that comes again has the same answer."""
    host, answers = sample("queue_inbox", tmp_path, monkeypatch), Out()

    for tries in (1, 2):
        message = queued('{"customer": "c1", "text": "Hello"}', tries=tries)
        await host.trigger("inbox", message=message, answers=answers)

    first, again = map(json.loads, answers.values)
    assert first == again
    assert (first["customer"], "Hello" in first["answer"]) == ("c1", True)


async def test_a_document_is_summarised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Into the output."""
    host, summary = sample("blob_summary", tmp_path, monkeypatch), Out()

    await host.trigger("documents", document=blob(b"The cat sat on the mat.", "documents/a.txt"), summary=summary)

    assert "The cat sat" in summary.values[0]


async def test_the_messages_of_an_order_are_one_thread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And one without text is no run."""
    host = sample("bus_orders", tmp_path, monkeypatch)

    for number, text in enumerate(("paid", " ", "sent"), 1):
        await host.trigger("order", message=bus_message(text, f"m{number}", number, session="order-7"))
    await host.entities.idle()

    (state,) = host.entities.states.values()
    entries = json.loads(state)["data"]["conversationHistory"]
    asked = [entry["messages"][0]["contents"][0]["text"] for entry in entries if entry["$type"] == "request"]
    assert asked == ["paid", "sent"]
