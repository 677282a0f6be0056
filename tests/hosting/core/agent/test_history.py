"""The thread as the history of the framework's own session: what an agent's parts see and change of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from agent_framework import (
    Agent,
    AgentLoopMiddleware,
    ChatResponse,
    Content,
    HistoryProvider,
    InMemoryHistoryProvider,
    Message,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from hosting.core.agent.agent_loop import AgentLoop
from hosting.core.agent.agent_runner import AgentAnswer, AgentRunner
from hosting.core.agent.pairs import whole, whole_before_open
from hosting.errors import ConfigurationError
from tests.hosting.core.agent.attempts import attempt, outcome_of
from tests.support.answering import AnsweringClient, calls, says
from tests.support.cluster.cluster import Cluster
from tests.support.seeds import repeated


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


@pytest.mark.moved_time
async def test_what_a_loop_added_is_what_the_next_turn_is_sent() -> None:
    """All of it, in order; the answer that callers read is the framework's own."""
    client = Model()
    looping = AgentLoopMiddleware(
        lambda iteration, **_: iteration < 2, next_message=lambda **_: "go on", inject_progress=False
    )
    cluster = Cluster(lambda: Agent(client=client, name="Joker", middleware=[looping]))
    await cluster.process().run("hi")
    await cluster.process().run("more")

    assert client.sent[2] == ["hi", "done", "go on", "done", "more"]


def call(call_id: str | None) -> Content:
    """Return a call of a tool."""
    content = calls("look")
    content.call_id = call_id
    return content


def result(call_id: str | None) -> Content:
    """Return the result of a call."""
    content = Content.from_function_result("x", result="seen")
    content.call_id = call_id
    return content


def test_the_calls_of_the_newest_turn_stay_open_where_they_are_decided_on() -> None:
    """The framework makes them, and puts their results in."""
    turn = [Message("user", ["hi"]), Message("assistant", [call("a")])]

    made = whole_before_open([*turn, Message("user", ["again"]), Message("assistant", [call("b")])])

    assert [message.role for message in made] == ["user", "assistant", "tool", "user", "assistant"]


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
