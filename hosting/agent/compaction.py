"""What of its conversation a model is sent: as much as it takes, by agent-framework's own compaction.

Theory. The agent, or its client, has a strategy of the framework's; where neither has one, the oldest messages are left
out beyond so many tokens. A strategy marks messages and puts others in their place, whole groups of a call and its
results at a time, in the lists of one run: the stored conversation is what was said, and nothing of this is in it. Only
a summary is kept, because it costs a model call: the newest that stands for the conversation's beginning, beside the
conversation, and the next turn begins with it. It is made again where it could not be kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agent_framework import (
    EXCLUDE_REASON_KEY,
    EXCLUDED_KEY,
    GROUP_ANNOTATION_KEY,
    SUMMARIZED_BY_SUMMARY_ID_KEY,
    SUMMARY_OF_MESSAGE_IDS_KEY,
    Agent,
    AgentResponse,
    CharacterEstimatorTokenizer,
    CompactionStrategy,
    Message,
    TruncationStrategy,
    annotate_message_groups,
)

from hosting.agent.history import ATTRIBUTION
from state.convert import placed_messages
from state.models import Conversation
from state.summary import Place, Summary, summary_of

_PLACE = "_thread_place"
_SUMMARY_ID = "thread_summary"
_MARKS = frozenset({GROUP_ANNOTATION_KEY, EXCLUDED_KEY, EXCLUDE_REASON_KEY})
_GIVEN_ID = "msg_"
_KEPT_SHARE = 0.75
_CHARACTERS_OF_TOKEN = 4
_CHARACTERS_AROUND_MESSAGE = 200


def sent_history(conversation: Conversation) -> list[Message]:
    """Return what a run begins with: the summary, if there is one, and the messages that it does not stand for."""
    summary = summary_of(conversation)
    placed = placed_messages(conversation)
    sent = [_marked(message, place) for place, message in placed if summary is None or place > summary.through]
    if summary is None:
        return sent
    return [_marked(Message("assistant", [summary.text], message_id=_SUMMARY_ID), summary.through), *sent]


class RunCompaction:
    """The strategy of one run, which notes the summaries that the strategy inside makes."""

    def __init__(self, strategy: CompactionStrategy) -> None:
        self._strategy = strategy
        self.summary: Summary | None = None
        if hasattr(strategy, "tokenizer"):
            self.tokenizer = strategy.tokenizer

    async def __call__(self, messages: list[Message]) -> bool:
        """See `CompactionStrategy`. What is put in is of the thread's past, not of what the run said."""
        before = {id(message) for message in messages}
        is_changed = await self._strategy(messages)
        for message in messages:
            if id(message) not in before:
                message.additional_properties["_attribution"] = ATTRIBUTION
                self.summary = _noted(message, messages) or self.summary
        return is_changed


class LeavingOutOldest:
    """Leaves the oldest groups of messages out once they are more than so many tokens, by four characters a token."""

    def __init__(self, tokens: int) -> None:
        self._tokens = tokens
        self._tokenizer = CharacterEstimatorTokenizer()
        self._truncation = TruncationStrategy(
            max_n=tokens, compact_to=int(tokens * _KEPT_SHARE), tokenizer=self._tokenizer
        )

    async def __call__(self, messages: list[Message]) -> bool:
        """See `CompactionStrategy`. Tokens are counted only where there may be too many: counting takes time."""
        if estimated_tokens(messages) <= self._tokens:
            return False
        annotate_message_groups(messages, tokenizer=self._tokenizer)
        return await self._truncation(messages)


def run_compaction(agent: object, history: Sequence[Message], tokens: int) -> RunCompaction | None:
    """Return the strategy for a run; None where there is nothing to leave out, and for agents of other classes.

    Without a strategy of its own, an agent without tools needs one only when its history is already near the limit: the
    run adds one message to it, and a look at every message takes time.
    """
    if not isinstance(agent, Agent):
        return None
    own = agent.compaction_strategy or getattr(agent.client, "compaction_strategy", None)
    if own is not None:
        return RunCompaction(own)
    may_grow = bool(agent.default_options.get("tools")) or bool(agent.mcp_tools) or len(agent.context_providers) > 1
    if not may_grow and estimated_tokens(history) <= tokens / 2:
        return None
    return RunCompaction(LeavingOutOldest(tokens))


def estimated_tokens(messages: Sequence[Message]) -> int:
    """Return about how many tokens the messages are: rather too many than too few."""
    characters = sum(
        len(content.text or "") + len(content.uri or "") + _length(content.arguments) + _length(content.result)
        for message in messages
        for content in message.contents
    )
    return (characters + _CHARACTERS_AROUND_MESSAGE * len(messages)) // _CHARACTERS_OF_TOKEN


def uncompacted(response: AgentResponse[Any]) -> AgentResponse[Any]:
    """Return the response as the agent said it: without summaries, and without the marks of compaction."""
    response.messages = [message for message in response.messages if not _is_summary(message)]
    for message in response.messages:
        marked = _MARKS & message.additional_properties.keys()
        for mark in marked:
            del message.additional_properties[mark]
        if marked and (message.message_id or "").startswith(_GIVEN_ID):
            message.message_id = None
    return response


def _noted(summary: Message, messages: Sequence[Message]) -> Summary | None:
    """Give a message that was put in its place in the thread, where all that it stands for has one; return what is kept
    of it: nothing, unless it is a summary and stands for the conversation's beginning."""
    places = [message.additional_properties.get(_PLACE) for message in messages if _is_covered(message, summary)]
    if not places or None in places:
        return None
    through: Place = max(place for place in places if place is not None)
    is_beginning = all(
        message.additional_properties.get(EXCLUDED_KEY)
        for message in messages
        if message.additional_properties.get(_PLACE, (through[0] + 1, 0)) <= through
    )
    _marked(summary, through)
    return Summary(through, summary.text) if is_beginning and summary.text.strip() else None


def _marked(message: Message, place: Place) -> Message:
    message.additional_properties[_PLACE] = place
    return message


def _group(message: Message) -> dict[str, Any]:
    group = message.additional_properties.get(GROUP_ANNOTATION_KEY)
    return group if isinstance(group, dict) else {}


def _is_summary(message: Message) -> bool:
    return SUMMARY_OF_MESSAGE_IDS_KEY in _group(message)


def _is_covered(message: Message, summary: Message) -> bool:
    return summary.message_id is not None and _group(message).get(SUMMARIZED_BY_SUMMARY_ID_KEY) == summary.message_id


def _length(value: object) -> int:
    return 0 if value is None else len(value if isinstance(value, str) else str(value))
