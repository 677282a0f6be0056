"""The history is put before each model call, unless somebody between the run and its model is to see it."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from typing import Any

import pytest
from agent_framework import (
    EXCLUDED_KEY,
    Agent,
    AgentSession,
    BaseChatClient,
    ChatContext,
    ChatMiddleware,
    ChatMiddlewareLayer,
    ChatResponse,
    ChatResponseUpdate,
    Content,
    ContextProvider,
    FunctionInvocationLayer,
    Message,
    ResponseStream,
    SlidingWindowStrategy,
)

from hosting.request.run_request import RunRequest
from hosting.runner.agent_loop import AgentLoop
from hosting.runner.agent_runner import AgentAnswer, AgentRunner, Attempt
from hosting.runner.history import History, attach_history, is_for_calls, run_compaction
from hosting.thread.messages import request_messages

GUARD_SECONDS = 5.0
HISTORY = ("one", "two")


def look() -> str:
    """Look, for agents of these tests."""
    return "seen" * 2000


class Model(BaseChatClient[Any]):
    """Calls the tool `look` when the message says so, else answers; it notes the messages of each call."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.given: list[list[str]] = []
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
        self.given.append([message.text or message.contents[0].type for message in messages])
        calls_tool = messages[-1].text == "look"
        content = Content.from_function_call("c1", "look", arguments={}) if calls_tool else Content.from_text("done")
        return ChatResponse(messages=[Message("assistant", [content])], conversation_id=self.conversation_id)


class Client(FunctionInvocationLayer[Any], ChatMiddlewareLayer[Any], Model):
    """The model with the framework's layers."""


class Seeing(ChatMiddleware):
    """Notes how many messages each call has."""

    def __init__(self) -> None:
        self.seen: list[int] = []

    async def process(self, context: ChatContext, call_next: Callable[[], Awaitable[None]]) -> None:
        self.seen.append(len(context.messages))
        await call_next()


@pytest.fixture
def loop() -> Iterator[AgentLoop]:
    """An agent loop of this test's own."""
    loop = AgentLoop(tool_threads=2)
    yield loop
    loop.close()


async def run(agent: Agent[Any], loop: AgentLoop, message: str, history: Sequence[str] = HISTORY) -> str:
    """Run the agent once behind that history, and return its answer."""
    request = RunRequest(message=message)
    before = [Message("user", [text]) for text in history]
    attempt = Attempt("r-1", "t", request, request_messages(request), History(before), session=None)
    outcome = await asyncio.wait_for(AgentRunner(agent, "a", loop).run(attempt, GUARD_SECONDS), GUARD_SECONDS)
    assert isinstance(outcome, AgentAnswer), outcome
    return outcome.response.text


def is_left(agent: Agent[Any], *messages: Message, session: AgentSession | None = None, tokens: int = 10_000) -> bool:
    """Tell whether the history of that agent's run is left to its model calls."""
    attach_history(agent, "a")
    history = History([Message("user", ["x" * 4000])])
    compaction = run_compaction(agent, history, tokens)
    return is_for_calls(agent, session or AgentSession(), history, messages or [Message("user", ["hi"])], compaction)


async def test_each_model_call_of_a_run_is_given_the_history_once(loop: AgentLoop) -> None:
    """With the run's messages so far behind it."""
    client = Client()

    assert await run(Agent(client=client, name="a", tools=[look]), loop, "look") == "done"

    assert client.given == [["one", "two", "look"], ["one", "two", "look", "function_call", "function_result"]]


async def test_messages_that_runs_share_are_never_marked(loop: AgentLoop) -> None:
    """A run that grows too long for its model leaves messages of its own out."""
    client, request = Client(), RunRequest(message="look")
    shared, own = ([Message("user", [text * 400]) for text in HISTORY] for _ in range(2))
    attempt = Attempt("r-1", "t", request, request_messages(request), History(shared, lambda: own), None)
    runner = AgentRunner(Agent(client=client, name="a", tools=[look]), "a", loop, context_tokens=2000)

    assert isinstance(await asyncio.wait_for(runner.run(attempt, GUARD_SECONDS), GUARD_SECONDS), AgentAnswer)

    assert [len(messages) for messages in client.given] == [3, 2]
    assert [message.additional_properties for message in shared] == [{}, {}]
    assert [message.additional_properties[EXCLUDED_KEY] for message in own] == [True, True]


async def test_a_middleware_of_the_author_sees_the_history_too(loop: AgentLoop) -> None:
    """On the agent, or on its client."""
    seeing = Seeing()

    await run(Agent(client=Client(), name="a", middleware=[seeing]), loop, "hi")
    await run(Agent(client=Client(middleware=[seeing]), name="a"), loop, "hi")

    assert seeing.seen == [3, 3]


async def test_a_service_that_keeps_the_conversation_is_given_the_history_once(loop: AgentLoop) -> None:
    """From its first answer on it has the messages."""
    client = Client()
    client.conversation_id = "kept-by-the-service"

    await run(Agent(client=client, name="a", tools=[look]), loop, "look")

    assert client.given == [["one", "two", "look"], ["function_result"]]


@pytest.mark.parametrize(
    "agent",
    [
        Agent(client=Client(), name="a", middleware=[Seeing()]),
        Agent(client=Client(middleware=[Seeing()]), name="a"),
        Agent(client=Client(), name="a", context_providers=[ContextProvider("memory")]),
        Agent(client=Client(), name="a", compaction_strategy=SlidingWindowStrategy(keep_last_groups=1)),
        Agent(client=Client(), name="a", default_options={"store": True}),
        Agent(client=Client(), name="a", require_per_service_call_history_persistence=True),
        Agent(client=Model(), name="a"),
    ],
    ids=["middleware", "client middleware", "provider", "compaction", "store", "per call", "no layers"],
)
def test_the_history_is_of_the_run_where_somebody_else_is_to_see_it(agent: Agent[Any]) -> None:
    """Then the framework is given it with the run's messages."""
    assert not is_left(agent)


def test_the_history_is_left_to_the_calls_of_a_plain_run() -> None:
    """But not if calls of it are to be answered, if it is too long for the model, or if a service has it already."""
    agent = Agent(client=Client(), name="a", tools=[look])
    result = Message("tool", [Content.from_function_result("c1", result="seen")])

    assert is_left(agent)
    assert not is_left(agent, result)
    assert not is_left(agent, tokens=1000)
    assert not is_left(agent, session=AgentSession(service_session_id="s"))
