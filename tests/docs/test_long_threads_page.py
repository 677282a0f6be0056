"""docs/explanation/long-threads.md: its example runs, and what it says is logged is logged."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from agent_framework import Agent, CompactionProvider, SummarizationStrategy

from hosting.core.agent.history import history_source
from hosting.settings import Settings

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
def test_the_page_lists_every_archive_and_the_defaults() -> None:
    values = re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE)
    pattern = next(field for field in Settings.model_fields.values() if field.alias == "AGENT_ARCHIVE").metadata

    assert values == ["sqlite", "blob", "cosmos"]
    assert all(value in str(pattern) for value in values)
    assert f"({Settings().recent_bytes // 1024} KiB)" in PAGE
    assert f"({Settings().context_tokens:,}, by an estimate" in PAGE
