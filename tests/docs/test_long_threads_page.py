"""docs/explanation/long-threads.md: its example runs, and what it says is logged is logged."""

from __future__ import annotations

import logging
import re
from pathlib import Path

import pytest
from agent_framework import Agent, CompactionProvider, SummarizationStrategy

from hosting.core.agent.history import history_source
from hosting.core.archiving import Archiver, Capacity
from hosting.core.document_writer import Attachments, DocumentWriter
from hosting.core.stores.memory import MemoryObjects
from hosting.core.thread.conversation import Snapshot
from hosting.core.thread.head import NEW
from hosting.core.thread_operations import Store
from hosting.names import Address
from hosting.settings import Settings
from state.codec import read
from state.conversation import append_turn
from tests.support.bench import ArmedArchive
from tests.support.state_documents import a_request, a_response

PAGE = (Path(__file__).parents[2] / "docs" / "explanation" / "long-threads.md").read_text("utf-8")


@pytest.mark.behaviour("archive.page")
def test_the_example_is_an_agent_that_keeps_its_summaries() -> None:
    """Without any setting it talks to the offline model."""
    [example] = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    defined: dict[str, object] = {}

    exec(example.replace("os.environ", "{}"), defined)

    agent = defined["agent"]
    assert isinstance(agent, Agent)
    (provider,) = (provider for provider in agent.context_providers if isinstance(provider, CompactionProvider))
    assert isinstance(provider.after_strategy, SummarizationStrategy)
    assert provider.history_source_id == history_source(agent, "historian")


@pytest.mark.behaviour("archive.page")
async def test_the_page_shows_the_line_of_an_archive_that_is_away(caplog: pytest.LogCaptureFixture) -> None:
    """The thread's id and the agent's apart."""
    archive = ArmedArchive()
    archive.is_down = True
    conversation = read(None)
    for run_id in ("r1", "r2"):
        conversation = append_turn(conversation, a_request(run_id), a_response(run_id, "hi"))

    keeping = DocumentWriter("hub", Capacity(4096, 1024), Archiver(archive, 1), Attachments(MemoryObjects(), 1024))

    with caplog.at_level(logging.WARNING, "hosting.core.document_writer"):
        outcome = Store(Snapshot(conversation, 2, 2, {}), NEW)
        await keeping.store(Address.of("assistant", "5f0c"), None, outcome, ttl_seconds=None)

    assert re.findall(r"^> (.*)$", PAGE, re.MULTILINE) == caplog.messages


@pytest.mark.behaviour("archive.page")
def test_the_page_lists_every_archive_and_the_defaults() -> None:
    """The one in memory is for tests."""
    values = re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE)
    pattern = next(field for field in Settings.model_fields.values() if field.alias == "AGENT_ARCHIVE").metadata

    assert values == ["sqlite", "blob", "cosmos"]
    assert all(value in str(pattern) for value in values)
    assert f"({Settings().recent_bytes // 1024} KiB)" in PAGE
    assert f"({Settings().context_tokens:,}, by an estimate" in PAGE
