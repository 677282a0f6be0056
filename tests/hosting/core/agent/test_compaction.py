"""What a model is sent of a long conversation, and what is stored of that: nothing but a summary."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Iterator, Mapping, Sequence
from typing import Any

import pytest
from agent_framework import (
    Agent,
    BaseChatClient,
    ChatMiddlewareLayer,
    ChatResponse,
    CompactionProvider,
    Content,
    FunctionInvocationLayer,
    InMemoryHistoryProvider,
    Message,
    SlidingWindowStrategy,
    SummarizationStrategy,
    tool,
)

from state.codec import read
from tests.support.bench import Bench
from tests.support.state_documents import history_messages

Sent = list[tuple[str, str]]


class NotingModel(BaseChatClient[Any]):
    """Notes what it is sent, and answers as it was told to or with an echo."""

    def __init__(self, *answers: Sequence[Content]) -> None:
        super().__init__()
        self.sent: list[Sent] = []
        self.answers = list(answers)

    def _inner_get_response(
        self, *, messages: Sequence[Message], stream: bool, options: Mapping[str, Any], **kwargs: Any
    ) -> Awaitable[ChatResponse[Any]]:
        return self._answer(messages)

    async def _answer(self, messages: Sequence[Message]) -> ChatResponse[Any]:
        self.sent.append([(message.role, text_of(message)) for message in messages])
        contents = self.answers.pop(0) if self.answers else [Content.from_text(f"echo: {messages[-1].text[:9]}")]
        return ChatResponse(messages=[Message("assistant", list(contents))])


class NotingClient(FunctionInvocationLayer[Any], ChatMiddlewareLayer[Any], NotingModel):
    """The noting model as an agent takes it."""


class Summarizer(NotingModel):
    """Answers every request for a summary with its number."""

    async def _answer(self, messages: Sequence[Message]) -> ChatResponse[Any]:
        await super()._answer(messages)
        return ChatResponse(messages=[Message("assistant", [f"summary {len(self.sent)}"])])


def text_of(message: Message) -> str:
    """Return a message's texts, calls and results in a word each."""
    return " ".join(content.text or content.type for content in message.contents)


@pytest.fixture
def summarizer() -> Summarizer:
    """The model that makes summaries."""
    return Summarizer()


@pytest.fixture
def benches() -> Iterator[list[Bench]]:
    """The entities of the test, which are closed with it."""
    opened: list[Bench] = []
    yield opened
    for bench in opened:
        bench.loop.close()


def bench_of(benches: list[Bench], client: NotingModel, environ: dict[str, str] | None = None, **options: Any) -> Bench:
    """Return an entity whose agent has this model and these options."""
    benches.append(Bench(agent=Agent(client=client, name="Joker", **options), environ=environ))
    return benches[-1]


def keeping(summarizer: Summarizer, count: int, threshold: int = 4) -> list[Any]:
    """Return what keeps a thread's history with summaries, as the framework's own example does it."""
    strategy = SummarizationStrategy(client=summarizer, target_count=count, threshold=threshold)
    return [
        InMemoryHistoryProvider(skip_excluded=True),
        CompactionProvider(after_strategy=strategy, history_source_id=InMemoryHistoryProvider.DEFAULT_SOURCE_ID),
    ]


async def talk(bench: Bench, turns: int, size: int = 9) -> None:
    """Take so many turns, each message with its number in front."""
    for number in range(turns):
        run_id = await bench.run(f"m{number} ".ljust(size, "."))
        assert (await bench.terminal(run_id)).kind == "completed"


@pytest.mark.behaviour("archive.cut-to-the-context")
async def test_without_a_strategy_the_oldest_messages_are_left_out_beyond_the_tokens(benches: list[Bench]) -> None:
    """The newest are sent, whole; everything is stored."""
    client = NotingClient()
    bench = bench_of(benches, client, {"AGENT_CONTEXT_TOKENS": "1000"})

    await talk(bench, 20, size=400)

    sent = client.sent[-1]
    assert sent[-1][1].startswith("m19 ")
    assert 2 < len(sent) < 20
    assert [text[:4] for role, text in sent if role == "user"] == [
        f"m{number} "[:4] for number in range(20 - sum(role == "user" for role, _ in sent), 20)
    ]
    assert len(history_messages(read(bench.state))) == 40


@pytest.mark.behaviour("archive.cut-to-the-context")
async def test_the_strategy_of_an_agent_or_of_its_client_is_the_one_that_counts(benches: list[Bench]) -> None:
    of_agent, of_client = NotingClient(), NotingClient()
    of_client.compaction_strategy = SlidingWindowStrategy(keep_last_groups=3)
    chosen = bench_of(benches, of_agent, compaction_strategy=SlidingWindowStrategy(keep_last_groups=3))
    inherited = bench_of(benches, of_client)

    for bench in (chosen, inherited):
        await talk(bench, 6)

    for client in (of_agent, of_client):
        assert [text.rstrip(".") for _, text in client.sent[-1]] == ["m4 ", "echo: m4 ......"[:15].rstrip("."), "m5 "]


@pytest.mark.behaviour("archive.summary-kept")
async def test_a_summary_of_a_compaction_provider_is_kept_and_not_made_again(
    benches: list[Bench], summarizer: Summarizer
) -> None:
    """The next turns begin with it until there is more to sum up; a new process too."""
    client = NotingClient()
    bench = bench_of(benches, client, context_providers=keeping(summarizer, 4))

    await talk(bench, 6)
    assert len(summarizer.sent) == 1
    bench.restart()
    await bench.run("next")

    assert len(summarizer.sent) == 1
    assert client.sent[-1][0] == ("assistant", "summary 1")
    assert client.sent[-1][-1] == ("user", "next")
    assert len(client.sent[-1]) < 9


@pytest.mark.behaviour("archive.summary-kept")
async def test_a_later_summary_takes_the_place_of_the_earlier_which_it_sums_up(
    benches: list[Bench], summarizer: Summarizer
) -> None:
    """One model call for each that is made, however many turns there are; each message is summed up once."""
    client = NotingClient()
    bench = bench_of(benches, client, context_providers=keeping(summarizer, 4))

    await talk(bench, 20)

    summed_up = [requested[-1][1] for requested in summarizer.sent]
    assert 2 < len(summarizer.sent) < 10
    assert all(f"summary {number}" in text for number, text in enumerate(summed_up[1:], start=1))
    assert all(sum(f"[user] m{number} " in text for text in summed_up) <= 1 for number in range(20))
    assert [role for role, text in client.sent[-1] if text.startswith("summary")] == ["assistant"]


@pytest.mark.behaviour("archive.stored-as-said")
async def test_compaction_leaves_no_trace_in_what_is_stored_and_answered(
    benches: list[Bench], summarizer: Summarizer
) -> None:
    """No mark of the framework's, no id that it made up, no summary among the answers; the next run is sent all."""

    @tool
    def look(word: str) -> str:
        """Look a word up."""
        return "found"

    client = NotingClient()
    strategy = SummarizationStrategy(client=summarizer, target_count=1, threshold=0)
    bench = bench_of(benches, client, compaction_strategy=strategy, tools=[look])
    for number in range(3):
        client.answers = [
            [Content.from_function_call(f"c{number}{step}", "look", arguments='{"word":"a"}')] for step in range(3)
        ]
        await bench.run(f"m{number}")

    entries = json.dumps(bench.entries())
    assert [trace for trace in ("_group", "_excluded", "_thread_position", "msg_", "summary") if trace in entries] == []
    assert sum(len(entry["messages"]) for entry in bench.entries()) == 3 * 8


@pytest.mark.behaviour("archive.own-messages-sent")
async def test_a_runs_own_messages_are_sent_however_long_they_are(benches: list[Bench]) -> None:
    """Its question alone is more than there is room for, and so are results of its tools."""

    @tool
    def look(word: str) -> str:
        """Look a word up."""
        return "found " * 1000

    client = NotingClient()
    bench = bench_of(benches, client, {"AGENT_CONTEXT_TOKENS": "1000"}, tools=[look])
    await talk(bench, 3, size=400)
    client.answers = [[Content.from_function_call(f"c{step}", "look", arguments='{"word":"a"}')] for step in range(2)]

    await talk(bench, 1, size=9000)

    first, *_, last = client.sent[-3:]
    assert [text[:3] for _, text in first] == ["m0 "]
    assert [role for role, _ in last] == ["user", "assistant", "tool", "assistant", "tool"]
