"""An agent that calls its tool as often as it is asked to, and whose model counts tokens for each call."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from agent_framework import Agent, ChatResponse, ChatResponseUpdate, Content, Message, tool

from tests.support.answering import AnsweringClient, calls, says
from tests.support.carriers import GUARD_SECONDS

CALLS: list[str] = []
"""The request of each call of the model; a test begins with `CALLS.clear()`."""

USED: dict[str, int] = {"input_token_count": 30, "output_token_count": 10, "total_token_count": 40}


class Spender(AnsweringClient):
    """Says a word and calls `step`, as often as the request's number says; each call of it costs 40 tokens.

    It is asked as `model` and answers as a version of that, or as `answers_as`.
    """

    model: str | None = None
    answers_as: str | None = None
    used: Mapping[str, int] = USED

    async def answer(self, messages: Sequence[Message], options: Mapping[str, Any]) -> ChatResponse[Any]:
        last = max(at for at, message in enumerate(messages) if message.role == "user")
        wanted, made = int(messages[last].text), sum(message.role == "tool" for message in messages[last:])
        CALLS.append(messages[last].text)
        answer = says(f"part {made}", *[calls("step", f"c{made}")] * (made < wanted), usage=dict(self.used))
        answer.model = self.answers_as or (self.model and f"{self.model}-2026-01-01")
        return answer

    async def _updates(
        self, messages: Sequence[Message], options: Mapping[str, Any]
    ) -> AsyncIterator[ChatResponseUpdate]:
        answer = await self.answer(messages, options)
        usage = Content.from_usage(dict(self.used))  # type: ignore[arg-type]
        for contents in ([*answer.messages[0].contents], [usage]):
            yield ChatResponseUpdate(
                role="assistant", contents=contents, message_id=str(len(CALLS)), model=answer.model
            )


class Held(Spender):
    """A model whose calls wait until they may go on, those after the first `free` ones."""

    def __init__(self, free: int = 0) -> None:
        super().__init__()
        self.free = free
        self.begun, self.goes_on = threading.Event(), threading.Event()  # it is called on a loop of its own

    async def answer(self, messages: Sequence[Message], options: Mapping[str, Any]) -> ChatResponse[Any]:
        self.free -= 1
        if self.free < 0:
            self.begun.set()
            assert await asyncio.to_thread(self.goes_on.wait, GUARD_SECONDS)
        return await super().answer(messages, options)


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
