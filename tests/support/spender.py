"""An agent that calls its tool as often as it is asked to, and whose model counts tokens for each call."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Mapping, Sequence
from typing import Any

from agent_framework import (
    Agent,
    BaseChatClient,
    ChatMiddlewareLayer,
    ChatResponse,
    ChatResponseUpdate,
    Content,
    FunctionInvocationLayer,
    Message,
    ResponseStream,
    tool,
)

from tests.support.carriers import GUARD_SECONDS

CALLS: list[str] = []
"""The request of each call of the model; a test begins with `CALLS.clear()`."""

USED: dict[str, int] = {"input_token_count": 30, "output_token_count": 10, "total_token_count": 40}


class _Spender(BaseChatClient[Any]):
    """Says a word and calls `step`, as often as the request's number says; each call of it costs 40 tokens.

    It is asked as `model` and answers as a version of that, or as `answers_as`.
    """

    model: str | None = None
    answers_as: str | None = None
    used: Mapping[str, int] = USED

    def _inner_get_response(
        self, *, messages: Sequence[Message], stream: bool, options: Mapping[str, Any], **kwargs: Any
    ) -> Awaitable[ChatResponse[Any]] | ResponseStream[ChatResponseUpdate, ChatResponse[Any]]:
        name = self.answers_as or (self.model and f"{self.model}-2026-01-01")
        answer = ChatResponse(
            messages=Message("assistant", _contents(messages)),
            usage_details=dict(self.used),  # type: ignore[arg-type]
            model=name,
        )
        if stream:
            return self._build_response_stream(_updates(answer))
        ready: asyncio.Future[ChatResponse[Any]] = asyncio.get_running_loop().create_future()
        ready.set_result(answer)
        return ready


class Spender(FunctionInvocationLayer, ChatMiddlewareLayer, _Spender):  # type: ignore[misc,type-arg]
    """The same as the framework's clients are made: its loop of calls, and middleware around each."""


def _contents(messages: Sequence[Message]) -> list[Content]:
    last = max(at for at, message in enumerate(messages) if message.role == "user")
    wanted, made = int(messages[last].text), sum(message.role == "tool" for message in messages[last:])
    CALLS.append(messages[last].text)
    calls = [Content.from_function_call(f"c{made}", "step", arguments={})] if made < wanted else []
    return [Content.from_text(f"part {made}"), *calls]


async def _updates(answer: ChatResponse[Any]) -> AsyncIterator[ChatResponseUpdate]:
    number, usage, contents = str(len(CALLS)), answer.usage_details, list(answer.messages[0].contents)
    yield ChatResponseUpdate(role="assistant", contents=contents, message_id=number, model=answer.model)
    assert usage is not None
    yield ChatResponseUpdate(role="assistant", contents=[Content.from_usage(usage)], model=answer.model)


class Held(Spender):
    """A model whose calls wait until they may go on, those after the first `free` ones."""

    def __init__(self, free: int = 0) -> None:
        super().__init__()
        self.free = free
        self.begun, self.goes_on = threading.Event(), threading.Event()  # it is called on a loop of its own

    def _inner_get_response(self, **kwargs: Any) -> Any:
        return self._answer(**kwargs)

    async def _answer(self, **kwargs: Any) -> ChatResponse[Any]:
        self.free -= 1
        if self.free < 0:
            self.begun.set()
            assert await asyncio.to_thread(self.goes_on.wait, GUARD_SECONDS)
        answer: ChatResponse[Any] = await super()._inner_get_response(**kwargs)  # type: ignore[misc]
        return answer


@tool(approval_mode="never_require")
def step() -> str:
    """Do a step."""
    return "done"


def spender(name: str = "Joker", *tools: Any, client: Spender | None = None) -> Agent[Any]:
    return Agent(client=client or Spender(), name=name, tools=[step, *tools])


def priced(model: str | None, answers_as: str | None = None, used: Mapping[str, int] = USED) -> Spender:
    """Return the client of a model by that name."""
    client = Spender()
    client.model, client.answers_as, client.used = model, answers_as, used
    return client
