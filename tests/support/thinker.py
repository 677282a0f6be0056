"""An agent whose model thinks before each answer, as the framework keeps it: text for people, and a sealed part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agent_framework import Agent, ChatResponse, Content, Message, UsageDetails

from hosting.tools import idempotent
from tests.support.answering import AnsweringClient, says

USED = UsageDetails(
    input_token_count=10,
    output_token_count=8,
    total_token_count=18,
    cache_read_input_token_count=4,
    reasoning_output_token_count=5,
)
SEALED = "c2VhbGVk"


class Thinker(AnsweringClient):
    """Thinks about the newest message and says it again. Of "look ..." it calls `look` first, once for each
    word, and thinks before that.

    `sent` has the messages of each call, as they were then.
    """

    def __init__(self) -> None:
        super().__init__()
        self.sent: list[list[Message]] = []

    async def answer(self, messages: Sequence[Message], options: Mapping[str, Any]) -> ChatResponse[Any]:
        self.sent.append([Message.from_dict(message.to_dict()) for message in messages])
        return says(*self.contents(messages), usage=USED)

    def pieces(self, content: Content) -> list[Content]:
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

    def contents(self, messages: Sequence[Message]) -> list[Content]:
        """Return what the model thinks, and what it says or calls."""
        newest, asked = messages[-1], [message.text for message in messages if message.role == "user"][-1]
        if newest.role == "tool" and sum(message.role == "tool" for message in messages) >= len(asked.split()):
            return [thought("It is a door."), Content.from_text("A door.")]
        if asked.startswith("look"):
            call = Content.from_function_call(f"c{len(messages)}", "look", arguments={})
            return [thought("Let me look."), call]
        return [thought(f"They said {newest.text}."), Content.from_text(newest.text)]


def thought(text: str) -> Content:
    """Return a thought of that text as a provider gives it."""
    return Content.from_text_reasoning(id=f"rs_{len(text)}", text=text, protected_data=SEALED)


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
