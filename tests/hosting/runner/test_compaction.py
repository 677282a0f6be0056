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
    Content,
    FunctionInvocationLayer,
    Message,
    SlidingWindowStrategy,
    SummarizationStrategy,
    ToolResultCompactionStrategy,
    tool,
)

from hosting.runner.history import LeavingOutOldest, estimated_tokens
from hosting.settings import read_settings
from state.codec import read
from state.extension import host_of
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


class NotingClient(FunctionInvocationLayer[Any], NotingModel):
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
    """Whatever the setting says."""
    of_agent, of_client = NotingClient(), NotingClient()
    of_client.compaction_strategy = SlidingWindowStrategy(keep_last_groups=3)
    chosen = bench_of(benches, of_agent, compaction_strategy=SlidingWindowStrategy(keep_last_groups=3))
    inherited = bench_of(benches, of_client)

    for bench in (chosen, inherited):
        await talk(bench, 6)

    for client in (of_agent, of_client):
        assert [text.rstrip(".") for _, text in client.sent[-1]] == ["m4 ", "echo: m4 ......"[:15].rstrip("."), "m5 "]


@pytest.mark.behaviour("archive.cut-to-the-context")
async def test_a_call_and_its_result_are_left_out_together(benches: list[Bench]) -> None:
    """Whichever way the conversation is cut, no result is sent without its call."""

    @tool
    def look(word: str) -> str:
        """Look a word up."""
        return "found " * 60

    client = NotingClient()
    bench = bench_of(benches, client, {"AGENT_CONTEXT_TOKENS": "1000"}, tools=[look])
    for number in range(12):
        client.answers = [[Content.from_function_call(f"c{number}", "look", arguments='{"word":"a"}')]]
        await bench.run(f"m{number}".ljust(100, "."))

    for sent in client.sent:
        calls = [text for _, text in sent if text == "function_call"]
        results = [text for _, text in sent if text == "function_result"]
        assert len(calls) == len(results)
    assert len(client.sent[-1]) < 20


@pytest.mark.behaviour("archive.summary-kept")
async def test_a_summary_is_kept_beside_the_conversation_and_not_made_again(
    benches: list[Bench], summarizer: Summarizer
) -> None:
    """The next turns begin with it until there is more to sum up; a new process too."""
    client = NotingClient()
    strategy = SummarizationStrategy(client=summarizer, target_count=4, threshold=4)
    bench = bench_of(benches, client, compaction_strategy=strategy)

    await talk(bench, 5)
    assert len(summarizer.sent) == 1
    bench.restart()
    await bench.run("next")

    assert len(summarizer.sent) == 1
    assert client.sent[-1][0] == ("assistant", "summary 1")
    assert client.sent[-1][-1] == ("user", "next")
    assert len(client.sent[-1]) < 9
    kept = host_of(read(bench.state)).summary
    assert kept is not None
    assert kept.text == "summary 1"


@pytest.mark.behaviour("archive.summary-kept")
async def test_a_later_summary_takes_the_place_of_the_earlier_which_it_sums_up(
    benches: list[Bench], summarizer: Summarizer
) -> None:
    """One model call for each that is made, however many turns there are; each message is summed up once."""
    client = NotingClient()
    strategy = SummarizationStrategy(client=summarizer, target_count=4, threshold=4)
    bench = bench_of(benches, client, compaction_strategy=strategy)

    await talk(bench, 20)

    summed_up = [requested[-1][1] for requested in summarizer.sent]
    assert 2 < len(summarizer.sent) < 10
    assert all(f"summary {number}" in text for number, text in enumerate(summed_up[1:], start=1))
    assert all(sum(f"[user] m{number} " in text for text in summed_up) <= 1 for number in range(20))
    assert [role for role, text in client.sent[-1] if text.startswith("summary")] == ["assistant"]


@pytest.mark.behaviour("archive.summary-kept")
async def test_a_summary_outlives_the_messages_that_it_stands_for(benches: list[Bench], summarizer: Summarizer) -> None:
    """They are in the archive; the model knows of them by the summary."""
    client = NotingClient()
    strategy = SummarizationStrategy(client=summarizer, target_count=4, threshold=4)
    bench = bench_of(benches, client, {"AGENT_RECENT_BYTES": "4096"}, compaction_strategy=strategy)

    await talk(bench, 30, size=100)

    assert bench.archive.puts
    assert client.sent[-1][0][1].startswith("summary ")
    assert client.sent[-1][-1][1].startswith("m29 ")


@pytest.mark.behaviour("archive.stored-as-said")
async def test_compaction_leaves_no_trace_in_what_is_stored_and_answered(
    benches: list[Bench], summarizer: Summarizer
) -> None:
    """No mark of the framework's, no id that it made up, no summary among the answers."""

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
    assert [trace for trace in ("_group", "_excluded", "_thread_place", "msg_", "summary") if trace in entries] == []
    assert sum(len(entry["messages"]) for entry in bench.entries()) == 3 * 8


@pytest.mark.behaviour("archive.summary-kept")
async def test_a_reset_forgets_the_summary(benches: list[Bench], summarizer: Summarizer) -> None:
    """It was of what is forgotten."""
    client = NotingClient()
    bench = bench_of(
        benches, client, compaction_strategy=SummarizationStrategy(client=summarizer, target_count=1, threshold=1)
    )
    await talk(bench, 4)
    assert host_of(read(bench.state)).summary is not None

    await bench.reset()

    assert host_of(read(bench.state)).summary is None


@pytest.mark.behaviour("archive.stored-as-said")
async def test_summaries_of_tool_results_are_made_for_each_run_and_kept_by_none(benches: list[Bench]) -> None:
    """They cost no model call."""

    @tool
    def look(word: str) -> str:
        """Look a word up."""
        return "found"

    client = NotingClient()
    bench = bench_of(
        benches, client, compaction_strategy=ToolResultCompactionStrategy(keep_last_tool_call_groups=1), tools=[look]
    )
    for number in range(4):
        client.answers = [
            [Content.from_function_call(f"c{number}{step}", "look", arguments='{"word":"a"}')] for step in range(3)
        ]
        await bench.run(f"m{number}")

    assert sum(text == "function_call" for _, text in client.sent[-1]) == 1
    assert sum(len(entry["messages"]) for entry in bench.entries()) == 4 * 8
    assert "_group" not in json.dumps(bench.entries())
    assert host_of(read(bench.state)).summary is None


async def test_an_agent_that_cannot_grow_beyond_its_limit_is_not_looked_through() -> None:
    """Tokens are estimated rather too high; below the limit nothing is counted or marked."""
    messages = [Message("user", ["x" * 4000])]

    assert estimated_tokens(messages) >= 1000
    assert not await LeavingOutOldest(2000)(messages)
    assert messages[0].additional_properties == {}
    assert read_settings({}).context_tokens == 100_000


class MarkedModel(NotingModel):
    """Notes whether it was sent messages with the framework's marks of compaction."""

    async def _answer(self, messages: Sequence[Message]) -> ChatResponse[Any]:
        self.sent.append([("marked", str(any("_group" in message.additional_properties for message in messages)))])
        return ChatResponse(messages=[Message("assistant", ["echo"])])


class MarkedClient(FunctionInvocationLayer[Any], ChatMiddlewareLayer[Any], MarkedModel):
    """The same as an agent takes it."""


@tool
def nothing() -> None:
    """Do nothing."""


async def test_model_calls_far_from_the_limit_are_spared_the_marks_of_compaction(benches: list[Bench]) -> None:
    """The framework would mark each message of a long thread for a strategy that leaves nothing out."""
    client = MarkedClient()
    bench = bench_of(benches, client, {"AGENT_CONTEXT_TOKENS": "2000"}, tools=[nothing])

    await talk(bench, 3)
    await talk(bench, 1, size=9000)

    assert client.sent == [[("marked", "False")]] * 3 + [[("marked", "True")]]


def test_messages_behind_the_history_are_counted_at_each_model_call() -> None:
    """A run's own tool results may be what is too much."""
    strategy = LeavingOutOldest(2000, history=1, history_tokens=900)
    history, result = Message("user", ["x" * 3000]), Message("tool", ["x" * 5000])

    assert [strategy.spares([history]), strategy.spares([history, result])] == [True, False]
