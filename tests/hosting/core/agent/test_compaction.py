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
    HistoryProvider,
    InMemoryHistoryProvider,
    Message,
    SlidingWindowStrategy,
    SummarizationStrategy,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from hosting.core.agent.agent_loop import AgentLoop
from hosting.core.agent.agent_runner import AgentAnswer, AgentRunner
from hosting.core.agent.pairs import whole
from hosting.errors import ConfigurationError
from tests.hosting.core.agent.attempts import attempt, outcome_of
from tests.support.answering import AnsweringClient, calls, says
from tests.support.cluster.cluster import AppProcess, Cluster
from tests.support.seeds import repeated


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


@pytest.mark.moved_time
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


@pytest.mark.moved_time
@pytest.mark.behaviour("archive.cut-to-the-context")
@pytest.mark.parametrize("is_agents", [True, False])
async def test_the_strategy_of_an_agent_or_of_its_client_is_the_one_that_counts(is_agents: bool) -> None:
    client, strategy = NotingModel(), SlidingWindowStrategy(keep_last_groups=3)
    options: dict[str, Any] = {"compaction_strategy": strategy} if is_agents else {}
    if not is_agents:
        client.compaction_strategy = strategy

    await talk(process_of(client, **options), 6)

    assert [text.rstrip(". ") for _, text in client.sent[-1]] == ["m4", "echo: m4", "m5"]


@pytest.mark.moved_time
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


async def look_up(word: str) -> str:
    """Look a word up."""
    return "found " * 1000


@pytest.mark.moved_time
@pytest.mark.behaviour("archive.stored-as-said")
async def test_compaction_leaves_no_trace_in_what_is_stored_and_answered() -> None:
    """No mark of the framework's, no id that it made up, no summary among the answers."""
    client, summarizer = NotingModel(), NotingModel(sums_up=True)
    strategy = SummarizationStrategy(client=summarizer, target_count=1, threshold=0)
    process = process_of(client, compaction_strategy=strategy, tools=[look_up])
    for number in range(3):
        client.answers = [calls("look_up", f"c{number}{step}", word="a") for step in range(3)]
        await process.run(f"m{number}")

    entries = json.dumps(process.entries())
    assert summarizer.sent
    assert [trace for trace in ("_group", "_excluded", "_thread_position", "msg_", "summary") if trace in entries] == []
    assert sum(len(entry["messages"]) for entry in process.entries()) == 3 * 8


@pytest.mark.moved_time
@pytest.mark.behaviour("archive.own-messages-sent")
async def test_a_runs_own_messages_are_sent_however_long_they_are() -> None:
    """Its question alone is more than there is room for, and so are results of its tools."""
    client = NotingModel()
    process = process_of(client, {"AGENT_CONTEXT_TOKENS": "1000"}, tools=[look_up])
    await talk(process, 3, size=400)
    client.answers = [calls("look_up", f"c{step}", word="a") for step in range(2)]

    await talk(process, 1, size=9000)

    first, *_, last = client.sent[-3:]
    assert [text[:3] for _, text in first] == ["m0 "]
    assert [role for role, _ in last] == ["user", "assistant", "tool", "assistant", "tool"]


def look() -> str:
    """Look, for agents of these tests."""
    return "seen"


class Model(AnsweringClient):
    """Calls the tool `look` when the message says so, else answers; it notes the messages of each call."""

    def __init__(self) -> None:
        super().__init__()
        self.sent: list[list[str]] = []

    async def answer(self, messages: Sequence[Message], options: Mapping[str, Any]) -> ChatResponse[Any]:
        self.sent.append([message.text or message.contents[0].type for message in messages])
        return says(calls("look") if messages[-1].text == "look" else "done")


@pytest.mark.parametrize("per_call", [False, True])
@pytest.mark.parametrize("provider", [None, InMemoryHistoryProvider("mine")])
async def test_each_model_call_of_a_run_is_sent_the_history_once(
    loop: AgentLoop, provider: InMemoryHistoryProvider | None, *, per_call: bool
) -> None:
    """With the run's messages so far behind it, under whichever name, also where it is loaded for each call."""
    client = Model()
    agent = Agent(
        client=client,
        tools=[look],
        context_providers=provider and [provider],
        require_per_service_call_history_persistence=per_call,
    )

    answer = await outcome_of(agent, loop, attempt("look", history=("one", "two")))

    assert isinstance(answer, AgentAnswer), answer
    assert client.sent == [["one", "two", "look"], ["one", "two", "look", "function_call", "function_result"]]
    assert [message.role for message in answer.added] == ["user", "assistant", "tool", "assistant"]
    assert answer.session is None


class Elsewhere(HistoryProvider):
    """A history in a place of its own."""

    async def get_messages(self, session_id: str | None, **kwargs: Any) -> list[Message]:
        return []

    async def save_messages(self, session_id: str | None, messages: Sequence[Message], **kwargs: Any) -> None:
        """Nothing."""


@pytest.mark.parametrize(
    ("providers", "says"),
    [
        ([Elsewhere("redis")], "Agent 'a' has the history provider 'redis' (Elsewhere), which loads messages from its"),
        (
            [InMemoryHistoryProvider("one"), InMemoryHistoryProvider("two")],
            "Agent 'a' has 2 history providers that load messages ('one', 'two')",
        ),
    ],
)
def test_providers_that_load_messages_beside_the_thread_are_refused(
    loop: AgentLoop, providers: list[HistoryProvider], says: str
) -> None:
    """Those that only keep them are not."""
    with pytest.raises(ConfigurationError) as refusal:
        AgentRunner(Agent(Model(), context_providers=providers), "a", loop)

    assert refusal.value.detail.startswith(says)
    AgentRunner(Agent(Model(), context_providers=[Elsewhere("redis", load_messages=False)]), "a", loop)


def call(call_id: str | None) -> Content:
    content = calls("look")
    content.call_id = call_id
    return content


def result(call_id: str | None) -> Content:
    content = Content.from_function_result("x", result="seen")
    content.call_id = call_id
    return content


IDS = st.sampled_from(["a", "b", "", None])
CONTENTS = st.one_of(st.builds(call, IDS), st.builds(result, IDS), st.just("text").map(Content.from_text))
ROLES = st.sampled_from(["user", "assistant", "tool"])
MESSAGES = st.lists(st.builds(Message, ROLES, st.lists(CONTENTS, max_size=3)), max_size=6)


@settings(max_examples=repeated(40, exploring=1000))
@given(MESSAGES)
def test_whatever_was_stored_is_sent_in_pairs(messages: list[Message]) -> None:
    """Each call has one result, right behind it; what is whole once is whole for good."""
    made = whole(messages)

    contents = [content for message in made for content in message.contents]
    called = [content.call_id for content in contents if content.type == "function_call"]
    results = [content.call_id for content in contents if content.type == "function_result"]
    assert all(called)
    assert len(set(called)) == len(called)
    assert sorted(map(str, called)) == sorted(map(str, results))
    assert whole(made) is made
