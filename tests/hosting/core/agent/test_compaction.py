"""What a model is sent of a long conversation, and what is stored of that: nothing but a summary."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from agent_framework import (
    Agent,
    ChatResponse,
    CompactionProvider,
    Content,
    InMemoryHistoryProvider,
    Message,
    SlidingWindowStrategy,
    SummarizationStrategy,
)

from tests.support.answering import AnsweringClient, calls, says
from tests.support.cluster.cluster import AppProcess, Cluster

pytestmark = pytest.mark.moved_time


class NotingModel(AnsweringClient):
    """Notes what it is sent, and answers as it was told to, with an echo, or with a summary where it `sums_up`."""

    def __init__(self, *, sums_up: bool = False) -> None:
        super().__init__()
        self.sent: list[list[tuple[str, str]]] = []
        self.answers: list[Content] = []
        self.sums_up = sums_up

    async def answer(self, messages: Sequence[Message], options: Mapping[str, Any]) -> ChatResponse[Any]:
        words = [(message.role, [content.text or content.type for content in message.contents]) for message in messages]
        self.sent.append([(role, " ".join(texts)) for role, texts in words])
        if self.sums_up:
            return says(f"summary {len(self.sent)}")
        return says(self.answers.pop(0) if self.answers else f"echo: {messages[-1].text[:9]}")


def process_of(client: NotingModel, settings: dict[str, str] | None = None, **options: Any) -> AppProcess:
    """Return a process whose agent has this model and these options."""
    return Cluster(lambda: Agent(client=client, name="Joker", **options), settings=settings).process()


def keeping(summarizer: NotingModel) -> list[Any]:
    """Return what keeps a thread's history with summaries, as the framework's own example does it."""
    strategy = SummarizationStrategy(client=summarizer, target_count=4, threshold=4)
    return [
        InMemoryHistoryProvider(skip_excluded=True),
        CompactionProvider(after_strategy=strategy, history_source_id=InMemoryHistoryProvider.DEFAULT_SOURCE_ID),
    ]


async def talk(process: AppProcess, turns: int, size: int = 9) -> None:
    """Take so many turns, each message with its number in front."""
    for number in range(turns):
        run_id = await process.run(f"m{number} ".ljust(size, "."))
        assert (await process.terminal(run_id)).kind == "completed"


@pytest.mark.behaviour("archive.cut-to-the-context")
async def test_without_a_strategy_the_oldest_messages_are_left_out_beyond_the_tokens() -> None:
    """The newest are sent, whole; everything is stored."""
    client = NotingModel()
    process = process_of(client, {"AGENT_CONTEXT_TOKENS": "1000"})

    await talk(process, 20, size=400)

    asked = [text[:4] for role, text in client.sent[-1] if role == "user"]
    assert 1 < len(asked) < 10
    assert asked == [f"m{number} "[:4] for number in range(20 - len(asked), 20)]
    assert len(process.entries()) == 40


@pytest.mark.behaviour("archive.cut-to-the-context")
@pytest.mark.parametrize("is_agents", [True, False])
async def test_the_strategy_of_an_agent_or_of_its_client_is_the_one_that_counts(is_agents: bool) -> None:
    client, strategy = NotingModel(), SlidingWindowStrategy(keep_last_groups=3)
    options: dict[str, Any] = {"compaction_strategy": strategy} if is_agents else {}
    if not is_agents:
        client.compaction_strategy = strategy

    await talk(process_of(client, **options), 6)

    assert [text.rstrip(". ") for _, text in client.sent[-1]] == ["m4", "echo: m4", "m5"]


@pytest.mark.behaviour("archive.summary-kept")
async def test_a_summary_of_a_compaction_provider_is_kept_until_a_later_one_takes_its_place() -> None:
    """One model call for each that is made, also in a new process; each message is summed up once."""
    client, summarizer = NotingModel(), NotingModel(sums_up=True)
    process = process_of(client, context_providers=keeping(summarizer))

    await talk(process, 6)
    first = len(summarizer.sent)
    process = process.cluster.process()
    await process.run("next")
    sent = client.sent[-1]
    await talk(process, 12)

    summed_up = [requested[-1][1] for requested in summarizer.sent]
    assert first == 1
    assert (sent[0], sent[-1], len(sent) < 9) == (("assistant", "summary 1"), ("user", "next"), True)
    assert 2 < len(summed_up) < 10
    assert all(f"summary {number}" in text for number, text in enumerate(summed_up[1:], start=1))
    assert sum("[user] next" in text for text in summed_up) == 1
    assert [role for role, text in client.sent[-1] if text.startswith("summary")] == ["assistant"]


async def look(word: str) -> str:
    """Look a word up."""
    return "found " * 1000


@pytest.mark.behaviour("archive.stored-as-said")
async def test_compaction_leaves_no_trace_in_what_is_stored_and_answered() -> None:
    """No mark of the framework's, no id that it made up, no summary among the answers."""
    client, summarizer = NotingModel(), NotingModel(sums_up=True)
    strategy = SummarizationStrategy(client=summarizer, target_count=1, threshold=0)
    process = process_of(client, compaction_strategy=strategy, tools=[look])
    for number in range(3):
        client.answers = [calls("look", f"c{number}{step}", word="a") for step in range(3)]
        await process.run(f"m{number}")

    entries = json.dumps(process.entries())
    assert summarizer.sent
    assert [trace for trace in ("_group", "_excluded", "_thread_position", "msg_", "summary") if trace in entries] == []
    assert sum(len(entry["messages"]) for entry in process.entries()) == 3 * 8


@pytest.mark.behaviour("archive.own-messages-sent")
async def test_a_runs_own_messages_are_sent_however_long_they_are() -> None:
    """Its question alone is more than there is room for, and so are results of its tools."""
    client = NotingModel()
    process = process_of(client, {"AGENT_CONTEXT_TOKENS": "1000"}, tools=[look])
    await talk(process, 3, size=400)
    client.answers = [calls("look", f"c{step}", word="a") for step in range(2)]

    await talk(process, 1, size=9000)

    first, *_, last = client.sent[-3:]
    assert [text[:3] for _, text in first] == ["m0 "]
    assert [role for role, _ in last] == ["user", "assistant", "tool", "assistant", "tool"]
