"""An agent whose model thinks before each answer, as the framework keeps it: text for people, and a sealed part."""

from __future__ import annotations

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
    UsageDetails,
)

from hosting.tools import idempotent

USED = UsageDetails(
    input_token_count=10,
    output_token_count=8,
    total_token_count=18,
    cache_read_input_token_count=4,
    reasoning_output_token_count=5,
)
SEALED = "c2VhbGVk"


class _Thinker(BaseChatClient[Any]):
    """Thinks about the newest message and says it again. Of "look ..." it calls `look` first, once for each
    word, and thinks before that.

    `sent` has the messages of each call, as they were then.
    """

    def __init__(self) -> None:
        super().__init__()
        self.sent: list[list[Message]] = []

    def _inner_get_response(
        self, *, messages: Sequence[Message], stream: bool, options: Mapping[str, Any], **kwargs: Any
    ) -> Awaitable[ChatResponse[Any]] | ResponseStream[ChatResponseUpdate, ChatResponse[Any]]:
        self.sent.append([Message.from_dict(message.to_dict()) for message in messages])
        if stream:
            return self._build_response_stream(self._updates(messages))
        return self._answer(messages)

    async def _answer(self, messages: Sequence[Message]) -> ChatResponse[Any]:
        return ChatResponse(messages=Message("assistant", self.contents(messages)), usage_details=USED)

    async def _updates(self, messages: Sequence[Message]) -> AsyncIterator[ChatResponseUpdate]:
        name = f"m{len(messages)}"
        for content in self.contents(messages):
            for part in _parts(content):
                yield ChatResponseUpdate(role="assistant", contents=[part], message_id=name)
        yield ChatResponseUpdate(role="assistant", contents=[Content.from_usage(USED)], message_id=name)

    def contents(self, messages: Sequence[Message]) -> list[Content]:
        """Return what the model thinks, and what it says or calls."""
        newest, asked = messages[-1], [message.text for message in messages if message.role == "user"][-1]
        if newest.role == "tool" and sum(message.role == "tool" for message in messages) >= len(asked.split()):
            return [thought("It is a door."), Content.from_text("A door.")]
        if asked.startswith("look"):
            call = Content.from_function_call(f"c{len(messages)}", "look", arguments={})
            return [thought("Let me look."), call]
        return [thought(f"They said {newest.text}."), Content.from_text(newest.text)]


class Thinker(FunctionInvocationLayer, ChatMiddlewareLayer, _Thinker):  # type: ignore[misc,type-arg]
    """The same as the framework's clients are made: its loop of calls, and middleware around each."""


def thought(text: str) -> Content:
    """Return a thought of that text as a provider gives it."""
    return Content.from_text_reasoning(id=f"rs_{len(text)}", text=text, protected_data=SEALED)


def _parts(content: Content) -> list[Content]:
    """Return a content word by word, the sealed part of a thought last."""
    if content.type == "text_reasoning":
        words = (content.text or "").split(" ")
        texts = [words[0], *(f" {word}" for word in words[1:])]
        last = Content.from_text_reasoning(id=content.id, protected_data=content.protected_data)
        return [*(Content.from_text_reasoning(id=content.id, text=text) for text in texts), last]
    if content.type != "text":
        return [content]
    words = (content.text or "").split(" ")
    return [Content.from_text(word) for word in [words[0], *(f" {word}" for word in words[1:])]]


def thinker(model: Thinker | None = None, name: str = "Joker", **options: Any) -> Agent[Any]:
    """Return the agent, and its tool that says what it sees."""
    return Agent(model or Thinker(), name=name, tools=[look], **options)


@idempotent
def look() -> str:
    """Look around."""
    return "a door"


def thoughts_sent(messages: Sequence[Message]) -> list[tuple[str | None, str | None]]:
    """Return the text and the sealed part of each thought among messages."""
    contents = (content for message in messages for content in message.contents)
    return [(content.text, content.protected_data) for content in contents if content.type == "text_reasoning"]
