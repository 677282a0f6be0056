"""As much of the thread as a model has room for: beyond so many tokens, its oldest turns are not sent.

This is for agents without a compaction strategy of the framework. A turn begins with a message of the user, so the sent
messages do, and no call is parted from its results. The messages of the run itself are never left out.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from operator import is_

from agent_framework import Agent, ChatContext, ChatMiddleware, CompactionProvider, Content, Message

from hosting.core.agent.history import SessionHistory, is_of_thread

_KEPT_SHARE = 0.75
_CHARACTERS_OF_TOKEN = 4
_TOKENS_AROUND_MESSAGE = 50
_TOKENS_OF_PICTURE = 1_500
"""Of a large one: providers count a picture by its size in pixels, up to about so many."""
_BYTES_OF_TOKEN_OF_FILE = 20
"""For a document or a sound, because its bytes are no text: a page of PDF of 40 kB counts as two thousand."""


def leaves_out(agent: object) -> bool:
    """Return whether the host leaves messages out for this agent: nothing of its author's compacts them."""
    return isinstance(agent, Agent) and (
        agent.compaction_strategy is None
        and getattr(agent.client, "compaction_strategy", None) is None
        and not any(isinstance(provider, CompactionProvider) for provider in agent.context_providers)
    )


def without_room(
    messages: Sequence[Message], more: Sequence[Message], tokens: int, *, keeps_newest: bool
) -> list[Message]:
    """Return the messages of the thread that find no room before `more`, the oldest turns.

    None where all of it has room; else so many that a quarter of the room is free, and not each turn leaves one out.
    `keeps_newest`: the run goes on with the thread's newest turn, after the decisions on its calls.
    """
    excess = estimated_tokens(messages) + estimated_tokens(more) - tokens
    if excess <= 0:
        return []
    excess += int(tokens * (1 - _KEPT_SHARE))
    excluded: list[Message] = []
    turns = _turns(messages)
    for turn in turns[:-1] if keeps_newest else turns:
        if excess <= 0:
            break
        excluded += turn
        excess -= estimated_tokens(turn)
    return excluded


def _turns(messages: Sequence[Message]) -> list[list[Message]]:
    """Return the turns of the thread among these messages, the oldest first."""
    turns: list[list[Message]] = []
    for message in messages:
        if not is_of_thread(message) or message.role == "system":
            continue
        if not turns or (message.role == "user" and turns[-1][-1].role != "user"):
            turns.append([])
        turns[-1].append(message)
    return turns


@dataclass(eq=False)
class RoomForCalls(ChatMiddleware):
    """Leaves the oldest turns out before a model call for which the run's own messages have left no room."""

    history: SessionHistory
    tokens: int
    keeps_newest: bool
    _known: list[Message] = field(default_factory=list)
    _estimated: int = 0

    async def process(self, context: ChatContext, call_next: Callable[[], Awaitable[None]]) -> None:
        """Shorten the messages to send, also those of an agent that loads its history for each call.

        Messages that stood there at the call before are not estimated again: a run may have very many.
        """
        known, messages = self._known, list(context.messages)
        is_longer = len(known) <= len(messages) and all(map(is_, known, messages))
        newly = messages[len(known) :] if is_longer else messages
        self._estimated = estimated_tokens(newly) + (self._estimated if is_longer else 0)
        self._known = messages
        if self._estimated > self.tokens:
            excluded = without_room(messages, (), self.tokens, keeps_newest=self.keeps_newest)
            self.history.leave_out(excluded)
            left_out = set(map(id, excluded))
            context.messages = [message for message in context.messages if id(message) not in left_out]
        await call_next()


def estimated_tokens(messages: Sequence[Message]) -> int:
    """Return about how many tokens the messages are: rather too many than too few."""
    return sum(
        _TOKENS_AROUND_MESSAGE + sum(_tokens_of(content) for content in message.contents) for message in messages
    )


def _tokens_of(content: Content) -> int:
    if content.type == "text":
        return _tokens_of_text(content.text)
    if content.type == "data":
        media_type = content.media_type or ""
        is_text = media_type.startswith("text/")
        size = len(content.uri or "")
        if media_type.startswith("image/"):
            return _TOKENS_OF_PICTURE
        return size // (_CHARACTERS_OF_TOKEN if is_text else _BYTES_OF_TOKEN_OF_FILE)
    if content.type == "uri":
        return _TOKENS_OF_PICTURE
    if content.type == "function_result" and content.items:
        return sum(map(_tokens_of, content.items))
    return sum(map(_tokens_of_text, (content.text, content.arguments, content.result, content.protected_data)))


def _tokens_of_text(text: object) -> int:
    """Return a quarter of the characters; of Chinese, Japanese and Korean, which take three bytes, all of them."""
    if not text:
        return 0
    written = str(text)
    extra = 0 if written.isascii() else len(written.encode(errors="replace")) - len(written)
    return (len(written) - extra // 2) // _CHARACTERS_OF_TOKEN + extra // 2
