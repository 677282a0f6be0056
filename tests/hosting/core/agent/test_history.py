"""The thread as the history of the framework's own session: what an agent's parts see and change of it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Mapping, Sequence
from typing import Any

import pytest
from agent_framework import (
    Agent,
    AgentLoopMiddleware,
    BaseChatClient,
    ChatMiddlewareLayer,
    ChatResponse,
    ChatResponseUpdate,
    Content,
    FunctionInvocationLayer,
    HistoryProvider,
    InMemoryHistoryProvider,
    Message,
    ResponseStream,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from hosting.core.agent.agent_loop import AgentLoop
from hosting.core.agent.agent_runner import AgentAnswer, AgentRunner
from hosting.core.agent.pairs import whole, whole_before_open
from hosting.errors import ConfigurationError
from tests.hosting.core.agent.attempts import attempt, outcome_of
from tests.support.bench import Bench
from tests.support.seeds import repeated


def look() -> str:
    """Look, for agents of these tests."""
    return "seen"


class Model(BaseChatClient[Any]):
    """Calls the tool `look` when the message says so, else answers; it notes the messages of each call."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.sent: list[list[str]] = []
        self.conversation_id: str | None = None

    def _inner_get_response(
        self, *, messages: Sequence[Message], stream: bool, options: Mapping[str, Any], **kwargs: Any
    ) -> Awaitable[ChatResponse[Any]] | ResponseStream[ChatResponseUpdate, ChatResponse[Any]]:
        if stream:
            return self._build_response_stream(self._words(messages))
        return self._answer(messages)

    async def _words(self, messages: Sequence[Message]) -> AsyncIterator[ChatResponseUpdate]:
        answer = await self._answer(messages)
        yield ChatResponseUpdate(role="assistant", contents=answer.messages[0].contents)

    async def _answer(self, messages: Sequence[Message]) -> ChatResponse[Any]:
        self.sent.append([message.text or message.contents[0].type for message in messages])
        calls_tool = messages[-1].text == "look"
        content = Content.from_function_call("c1", "look", arguments={}) if calls_tool else Content.from_text("done")
        return ChatResponse(messages=[Message("assistant", [content])], conversation_id=self.conversation_id)


class Client(FunctionInvocationLayer[Any], ChatMiddlewareLayer[Any], Model):
    """The model with the framework's layers."""


async def run(agent: Any, loop: AgentLoop, message: str) -> AgentAnswer:
    """Return the answer of the agent to one message behind others."""
    outcome = await outcome_of(agent, loop, attempt(message, history=("one", "two")))
    assert isinstance(outcome, AgentAnswer), outcome
    return outcome


@pytest.mark.parametrize("per_call", [False, True])
@pytest.mark.parametrize("provider", [None, InMemoryHistoryProvider("mine")])
async def test_each_model_call_of_a_run_is_sent_the_history_once(
    loop: AgentLoop, provider: InMemoryHistoryProvider | None, *, per_call: bool
) -> None:
    """With the run's messages so far behind it, under whichever name, also where it is loaded for each call."""
    client = Client()
    agent = Agent(
        client=client,
        name="a",
        tools=[look],
        context_providers=provider and [provider],
        require_per_service_call_history_persistence=per_call,
    )

    answer = await run(agent, loop, "look")

    assert client.sent == [["one", "two", "look"], ["one", "two", "look", "function_call", "function_result"]]
    assert [message.role for message in answer.added] == ["user", "assistant", "tool", "assistant"]
    assert answer.session is None


class Elsewhere(HistoryProvider):
    """A history in a place of its own."""

    async def get_messages(self, session_id: str | None, **kwargs: Any) -> list[Message]:
        return []

    async def save_messages(self, session_id: str | None, messages: Sequence[Message], **kwargs: Any) -> None:
        """Nothing."""


def test_a_provider_that_loads_the_history_from_elsewhere_is_refused(loop: AgentLoop) -> None:
    agent = Agent(client=Client(), name="a", context_providers=[Elsewhere("redis")])

    with pytest.raises(ConfigurationError) as refusal:
        AgentRunner(agent, "a", loop)

    assert refusal.value.detail == (
        "Agent 'a' has the history provider 'redis' (Elsewhere), which loads messages from its own store. A hosted "
        "agent gets them from its thread: use InMemoryHistoryProvider or none, or set load_messages=False."
    )
    AgentRunner(Agent(Client(), context_providers=[Elsewhere("redis", load_messages=False)]), "a", loop)


def test_two_providers_that_load_the_thread_are_refused(loop: AgentLoop) -> None:
    providers = [InMemoryHistoryProvider("one"), InMemoryHistoryProvider("two")]

    with pytest.raises(ConfigurationError) as refusal:
        AgentRunner(Agent(client=Client(), name="a", context_providers=providers), "a", loop)

    assert refusal.value.detail == (
        "Agent 'a' has 2 history providers that load messages ('one', 'two'): the model would get the thread once "
        "from each. Keep one of them."
    )


async def test_what_a_loop_added_is_what_the_next_turn_is_sent() -> None:
    """All of it, in order; the answer that callers read is the framework's own."""
    client = Client()
    looping = AgentLoopMiddleware(
        lambda iteration, **_: iteration < 2, next_message=lambda **_: "go on", inject_progress=False
    )
    bench = Bench(agent=Agent(client=client, name="Joker", middleware=[looping]))
    try:
        await bench.run("hi")
        bench.restart()
        await bench.run("more")
    finally:
        bench.loop.close()

    assert client.sent[2] == ["hi", "done", "go on", "done", "more"]


def call(call_id: str | None, name: str = "look") -> Content:
    """Return a call of a tool."""
    content = Content.from_function_call("x", name, arguments={})
    content.call_id = call_id
    return content


def result(call_id: str | None, text: str = "seen") -> Content:
    """Return the result of a call."""
    content = Content.from_function_result("x", result=text)
    content.call_id = call_id
    return content


def test_the_calls_of_the_newest_turn_stay_open_where_they_are_decided_on() -> None:
    """The framework makes them, and puts their results in."""
    turn = [Message("user", ["hi"]), Message("assistant", [call("a")])]

    made = whole_before_open([*turn, Message("user", ["again"]), Message("assistant", [call("b")])])

    assert [message.role for message in made] == ["user", "assistant", "tool", "user", "assistant"]


CONTENTS = st.one_of(
    st.builds(call, st.sampled_from(["a", "b", "", None])),
    st.builds(result, st.sampled_from(["a", "b", "", None])),
    st.just("text").map(Content.from_text),
)
MESSAGES = st.lists(
    st.builds(Message, st.sampled_from(["user", "assistant", "tool"]), st.lists(CONTENTS, max_size=3)), max_size=6
)


@settings(max_examples=repeated(40, exploring=1000))
@given(MESSAGES)
def test_whatever_was_stored_is_sent_in_pairs(messages: list[Message]) -> None:
    """Each call has one result, right behind it; what is whole once is whole for good."""
    made = whole(messages)

    calls = [content.call_id for message in made for content in message.contents if content.type == "function_call"]
    results = [content.call_id for message in made for content in message.contents if content.type == "function_result"]
    assert all(calls)
    assert len(set(calls)) == len(calls)
    assert sorted(map(str, calls)) == sorted(map(str, results))
    assert whole(made) is made
