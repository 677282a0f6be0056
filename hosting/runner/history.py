"""What of its conversation a run's model is sent: as much as the model takes, by agent-framework's own compaction.

Theory. A run begins with its thread's messages; it saves none, because the entity writes the conversation. They reach
the model in one of three ways. A plain run has them put before each model call, and not before the run: the framework
copies and examines every message that a run begins with, several times, and in a long thread that costs more than
all else in the turn. Where somebody between the run and its model has to see them, a history provider adds them to the
run. An agent that takes no history providers gets them as its messages.

The agent, or its client, has a compaction strategy of the framework's; where neither has one, the oldest messages are
left out beyond so many tokens. A strategy marks messages and replaces others, whole groups of a call and its
results at a time, in the lists of one run: the stored conversation never changes by it. Only a summary is kept, because
it costs a model call. The newest one that stands for the conversation's beginning is stored next to the conversation,
and the next turn begins with it. It is made again where it could not be kept.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from agent_framework import (
    EXCLUDE_REASON_KEY,
    EXCLUDED_KEY,
    GROUP_ANNOTATION_KEY,
    SUMMARIZED_BY_SUMMARY_ID_KEY,
    SUMMARY_OF_MESSAGE_IDS_KEY,
    Agent,
    AgentResponse,
    AgentSession,
    CharacterEstimatorTokenizer,
    ChatContext,
    ChatMiddleware,
    ChatMiddlewareLayer,
    CompactionStrategy,
    HistoryProvider,
    Message,
    SupportsAgentRun,
    TruncationStrategy,
    annotate_message_groups,
)

from hosting.errors import ConfigurationError
from hosting.runner.framework import SOURCE_ID, attribute
from state.convert import placed_messages, shared_messages
from state.extension import Position, Summary, host_of
from state.models import Conversation, entry_text
from state.portable import portable_text

_POSITION = "_thread_place"
_SUMMARY_ID = "thread_summary"
_MARKS = frozenset({GROUP_ANNOTATION_KEY, EXCLUDED_KEY, EXCLUDE_REASON_KEY})
_GIVEN_ID = "msg_"
_KEPT_SHARE = 0.75
_CHARACTERS_OF_TOKEN = 4
_CHARACTERS_AROUND_MESSAGE = 200
_OF_CALLS = frozenset({"function_call", "function_result", "function_approval_request", "function_approval_response"})


@dataclass(frozen=True)
class History:
    """The messages that a run begins with: `shared` with other runs, so that no run may change them.

    `make_own` makes the same messages for one run alone; without it the shared ones are the run's own. `tokens` is
    about how many they are, at most; None where nobody has counted.
    """

    shared: list[Message]
    make_own: Callable[[], Sequence[Message]] | None = None
    tokens: int | None = None

    def own(self) -> Sequence[Message]:
        """Return messages that one run may change."""
        return self.shared if self.make_own is None else self.make_own()


def history_of(conversation: Conversation) -> History:
    """Return what a run begins with. Its tokens are estimated by the bytes of the entries."""
    entries = conversation.data.conversation_history
    summary = host_of(conversation).summary
    shared = shared_messages(conversation) if summary is None else _sent(conversation, summary)
    characters = sum(map(len, entries.derived(entry_text))) + (len(summary.text) if summary else 0)
    tokens = (characters + _CHARACTERS_AROUND_MESSAGE * (entries.message_count + 1)) // _CHARACTERS_OF_TOKEN
    return History(shared, lambda: _sent(conversation, summary), tokens)


def _sent(conversation: Conversation, summary: Summary | None) -> list[Message]:
    """Return the summary, if there is one, and new copies of the messages that it does not stand for."""
    placed = placed_messages(conversation)
    if summary is not None:
        first = Message("assistant", [summary.text], message_id=_SUMMARY_ID)
        placed = [(summary.through, first), *((at, message) for at, message in placed if at > summary.through)]
    for position, message in placed:
        message.additional_properties[_POSITION] = position
    return [message for _, message in placed]


class ThreadSession(AgentSession):
    """A framework session that carries the messages of its thread for the length of one run."""

    history: Sequence[Message] = ()


class ThreadHistory(HistoryProvider):
    """Adds the messages of its `ThreadSession` to a run and saves none: the entity writes the conversation."""

    def __init__(self) -> None:
        super().__init__(SOURCE_ID, store_inputs=False, store_outputs=False)

    async def get_messages(
        self, session_id: str | None, *, state: dict[str, Any] | None = None, **kwargs: Any
    ) -> list[Message]:
        """Return nothing: `before_run` adds the messages, because only it sees the session."""
        return []

    async def before_run(self, *, agent: Any, session: AgentSession, context: Any, state: dict[str, Any]) -> None:
        """Put the thread's messages before the run's own.

        They were made for this run alone, so `extend_messages`, which copies each one, would only cost time that grows
        with the thread.
        """
        if isinstance(session, ThreadSession) and session.history:
            context.context_messages[self.source_id] = _attributed(session.history)

    async def save_messages(
        self,
        session_id: str | None,
        messages: Sequence[Message],
        *,
        state: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """Save nothing."""


def attach_history(agent: SupportsAgentRun, name: str) -> bool:
    """Give the agent our history provider; return whether it takes history providers at all.

    An agent that does not (any class with `run`) gets the whole thread as its messages instead. A second provider
    that loads messages is refused: the model would see every message twice.
    """
    providers = getattr(agent, "context_providers", None)
    if not isinstance(providers, list):
        return False
    loading = [provider for provider in providers if isinstance(provider, HistoryProvider) and provider.load_messages]
    if any(isinstance(provider, ThreadHistory) for provider in loading):
        return True
    if loading:
        raise ConfigurationError(
            f"Agent {name!r} has the history provider {loading[0].source_id!r}, which loads messages; "
            "the host already does. Remove it, or give it load_messages=False."
        )
    providers.append(ThreadHistory())
    return True


class RunCompaction:
    """The agent's own strategy for one run. `summary` is the newest that stands for the conversation's beginning."""

    def __init__(self, strategy: CompactionStrategy) -> None:
        self._strategy = strategy
        self.summary: Summary | None = None
        if hasattr(strategy, "tokenizer"):
            self.tokenizer = strategy.tokenizer

    async def __call__(self, messages: list[Message]) -> bool:
        """Compact the messages in place. What is put in belongs to the thread's past, and not to the run."""
        before = {id(message) for message in messages}
        is_changed = await self._strategy(messages)
        for message in messages:
            if id(message) not in before:
                attribute(message, anew=True)
                self.summary = _summary(message, messages) or self.summary
        return is_changed


@dataclass(frozen=True)
class LeavingOutOldest:
    """Leaves the oldest groups of messages out beyond so many tokens, estimated by four characters a token.

    `history` messages begin each list and are `history_tokens`; with 0 all are counted each time.
    """

    tokens: int
    history: int = 0
    history_tokens: int = 0
    summary: ClassVar[None] = None

    async def __call__(self, messages: list[Message]) -> bool:
        """Mark what is left out. Tokens are counted only where there may be too many: counting takes time."""
        if estimated_tokens(messages) <= self.tokens:
            return False
        tokenizer = CharacterEstimatorTokenizer()
        annotate_message_groups(messages, tokenizer=tokenizer)
        kept = int(self.tokens * _KEPT_SHARE)
        return await TruncationStrategy(max_n=self.tokens, compact_to=kept, tokenizer=tokenizer)(messages)

    def spares(self, messages: Sequence[Message]) -> bool:
        """Return whether nothing would be left out of these messages."""
        return self.history_tokens + estimated_tokens(messages[self.history :]) <= self.tokens


def run_compaction(agent: object, history: History, tokens: int) -> RunCompaction | LeavingOutOldest | None:
    """Return the strategy for a run; None where there is nothing to leave out, and for agents of other classes.

    Without a strategy of its own, an agent without tools needs one only when its history is already near the limit: the
    run adds one message to it, and looking at every message takes time.
    """
    if not isinstance(agent, Agent):
        return None
    own = agent.compaction_strategy or getattr(agent.client, "compaction_strategy", None)
    if own is not None:
        return RunCompaction(own)
    estimated = estimated_tokens(history.shared) if history.tokens is None else history.tokens
    is_first = len(agent.context_providers) == 1
    may_grow = bool(agent.default_options.get("tools")) or bool(agent.mcp_tools) or not is_first
    if not may_grow and estimated <= tokens / 2:
        return None
    return LeavingOutOldest(tokens, len(history.shared), estimated) if is_first else LeavingOutOldest(tokens)


def estimated_tokens(messages: Sequence[Message]) -> int:
    """Return about how many tokens the messages are: rather too many than too few."""
    characters = _CHARACTERS_AROUND_MESSAGE * len(messages)
    for message in messages:
        for content in message.contents:
            for text in (content.text, content.uri, content.arguments, content.result):
                characters += len(str(text)) if text else 0
    return characters // _CHARACTERS_OF_TOKEN


def is_for_calls(
    agent: SupportsAgentRun,
    session: AgentSession,
    history: History,
    messages: Sequence[Message],
    compaction: RunCompaction | LeavingOutOldest | None,
) -> bool:
    """Return whether the history of a run that adds these messages may be put before its model calls only.

    It may not where somebody else has to see it: other context providers, middleware of the agent's author or of the
    client's, a compaction that may change messages, a service that keeps the conversation itself, and the framework's
    handling of approvals, whose calls are in the history.
    """
    return (
        isinstance(agent, Agent)
        and isinstance(agent.client, ChatMiddlewareLayer)
        and not agent.middleware
        and not agent.client.chat_middleware
        and len(agent.context_providers) == 1
        and not agent.require_per_service_call_history_persistence
        and not (agent.default_options.get("store") or agent.default_options.get("conversation_id"))
        and session.service_session_id is None
        and not any(content.type in _OF_CALLS for message in messages for content in message.contents)
        and (
            compaction is None
            or (isinstance(compaction, LeavingOutOldest) and compaction.spares([*history.shared, *messages]))
        )
    )


def _attributed(history: Sequence[Message]) -> list[Message]:
    """Return the messages with the framework's mark of who put them into the run."""
    for message in history:
        attribute(message)
    return list(history)


@dataclass(eq=False)
class AtModelCalls(ChatMiddleware):
    """Puts the history, if it has one, before the messages of each model call; it stands right before the model.

    It takes the compaction out of calls that this would not change: for a compaction the framework marks each message.
    """

    history: History | None
    _own: list[Message] | None = None

    async def process(self, context: ChatContext, call_next: Callable[[], Awaitable[None]]) -> None:
        """Call the model with the history in front; after its answer the list is the run's own again.

        The framework examines the list after the call once more. The model of a stream has yet to read it then.
        """
        if self.history is not None and (context.options or {}).get("conversation_id"):
            await call_next()  # the service has the history since the run's first call
            return
        shared = [] if self.history is None else self.history.shared
        history = shared if self._own is None else self._own
        messages = [*history, *context.messages]
        strategy = context.kwargs.get("compaction_strategy")
        if strategy is not None and self._own is None:
            if isinstance(strategy, LeavingOutOldest) and strategy.spares(messages):
                context.kwargs = {name: one for name, one in context.kwargs.items() if name != "compaction_strategy"}
            elif self.history is not None:  # it marks messages: from now on they are the run's own
                history = self._own = _attributed(self.history.own())
                messages = [*history, *context.messages]
        if history:
            context.messages = messages
        await call_next()
        if not context.stream and messages[: len(history)] == history:
            del messages[: len(history)]


def uncompacted(response: AgentResponse[Any]) -> AgentResponse[Any]:
    """Return the response without summaries, and without the marks of compaction."""
    summaries = set()
    for message in response.messages:
        marked = _MARKS & message.additional_properties.keys()
        if marked and SUMMARY_OF_MESSAGE_IDS_KEY in _group(message):
            summaries.add(id(message))
        for mark in marked:
            del message.additional_properties[mark]
        if marked and (message.message_id or "").startswith(_GIVEN_ID):
            message.message_id = None
    if summaries:
        response.messages = [message for message in response.messages if id(message) not in summaries]
    return response


def _summary(message: Message, messages: Sequence[Message]) -> Summary | None:
    """Return what is kept of a message that a strategy put in; None unless it sums up the conversation's beginning.

    Where all that it stands for has a place in the thread, it gets the place of the last.
    """
    message_id = message.message_id
    covered = [
        one.additional_properties.get(_POSITION)
        for one in messages
        if message_id is not None and _group(one).get(SUMMARIZED_BY_SUMMARY_ID_KEY) == message_id
    ]
    if not covered or None in covered:
        return None
    through: Position = max(position for position in covered if position is not None)
    is_beginning = all(
        one.additional_properties.get(EXCLUDED_KEY)
        for one in messages
        if one.additional_properties.get(_POSITION, (through[0] + 1, 0)) <= through
    )
    message.additional_properties[_POSITION] = through
    return Summary(through, portable_text(message.text)) if is_beginning and message.text.strip() else None


def _group(message: Message) -> dict[str, Any]:
    group = message.additional_properties.get(GROUP_ANNOTATION_KEY)
    return group if isinstance(group, dict) else {}
