"""The thread as the history that agent-framework itself keeps: in the session of a run.

Theory. An agent of the framework keeps its conversation in its session, by its `InMemoryHistoryProvider`, which the
framework adds to an agent that has none. Hosted, the session of a run is made of the stored conversation. So whatever
runs the agent or its model more than once, and whatever loads, adds or marks messages, does it as it does plain. When
the run has ended, the session has the thread's messages, each known by its position, and those that the run added. What
it added is what the thread has of the run from then on.

An agent of another class, which takes no context providers, gets the thread as its messages.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from agent_framework import (
    EXCLUDE_REASON_KEY,
    EXCLUDED_KEY,
    GROUP_ANNOTATION_KEY,
    SUMMARY_OF_MESSAGE_IDS_KEY,
    AgentSession,
    HistoryProvider,
    InMemoryHistoryProvider,
    Message,
    SupportsAgentRun,
)
from msgspec import Struct

from hosting.core.thread.messages import APPROVALS
from hosting.errors import ConfigurationError
from state.convert import placed_messages
from state.extension import Position, host_of
from state.models import Conversation

_MESSAGES = "messages"
_COMPACTION = "compaction"
_POSITION = "_thread_position"
_MARKS = frozenset({GROUP_ANNOTATION_KEY, EXCLUDED_KEY, EXCLUDE_REASON_KEY})
_GIVEN_ID = "msg_"
"""How the ids of messages begin that the framework gives for compaction."""


def thread_messages(conversation: Conversation) -> list[Message]:
    """Return the conversation as messages that a run may change, each marked with its position in the thread.

    Approvals that the conversation no longer waits for are left out: nothing answers them any more.
    """
    pause = host_of(conversation).pause
    is_waiting = pause is not None and not pause.is_over
    messages = []
    for position, message in placed_messages(conversation):
        if not is_waiting:
            message.contents = [content for content in message.contents if content.type not in APPROVALS]
        if message.contents:
            message.additional_properties[_POSITION] = position
            messages.append(message)
    return messages


def has_messages(state: object) -> bool:
    """Return whether the state of a provider in a session is that of a history."""
    messages = state.get(_MESSAGES) if isinstance(state, dict) else None
    return isinstance(messages, list) and any(isinstance(message, Message) for message in messages)


def is_of_thread(message: Message) -> bool:
    """Return whether the message was in the thread before the run."""
    return _POSITION in message.additional_properties


def position_of(message: Message) -> Position:
    """Return where in the thread the message stands."""
    entry, number = message.additional_properties[_POSITION]
    return entry, number


def history_source(agent: SupportsAgentRun, name: str) -> str | None:
    """Return under which name the agent keeps its messages in a session; None for an agent without context providers.

    Raises `ConfigurationError` for an agent that loads its history from elsewhere: the thread is its history.
    """
    providers = getattr(agent, "context_providers", None)
    if not isinstance(providers, list):
        return None
    loading = [provider for provider in providers if isinstance(provider, HistoryProvider) and provider.load_messages]
    for provider in loading:
        if not isinstance(provider, InMemoryHistoryProvider):
            raise ConfigurationError(
                f"Agent {name!r} has the history provider {provider.source_id!r} ({type(provider).__name__}), which "
                "loads messages from its own store. A hosted agent gets them from its thread: use "
                "InMemoryHistoryProvider or none, or set load_messages=False."
            )
    if len(loading) > 1:
        sources = ", ".join(repr(provider.source_id) for provider in loading)
        raise ConfigurationError(
            f"Agent {name!r} has {len(loading)} history providers that load messages ({sources}): the model would get "
            "the thread once from each. Keep one of them."
        )
    return loading[0].source_id if loading else InMemoryHistoryProvider.DEFAULT_SOURCE_ID


class SessionHistory(Struct, frozen=True):
    """The thread's messages in the session of one run, where the agent keeps them under the name `source`."""

    session: AgentSession
    source: str

    def begin(self, messages: Iterable[Message]) -> None:
        """Put the thread's messages in, as a `CompactionProvider` left them after an earlier run."""
        state = self._state()
        state[_MESSAGES] = _compacted(messages, state.pop(_COMPACTION, None))

    def leave_out(self, messages: Sequence[Message]) -> None:
        """Take these messages of the thread out, for the rest of the run."""
        state, left_out = self._state(), {position_of(message) for message in messages}
        state[_MESSAGES] = [
            message
            for message in state.get(_MESSAGES, ())
            if not is_of_thread(message) or position_of(message) not in left_out
        ]

    def end(self) -> list[Message]:
        """Take all messages out, and return those that the run added, in their order, as `uncompacted` does.

        What a `CompactionProvider` changed stays in the session, for the next run.
        """
        state = self._state()
        messages: list[Message] = state.pop(_MESSAGES, [])
        if compaction := _compaction_in(messages):
            state[_COMPACTION] = compaction
        return uncompacted(message for message in messages if not is_of_thread(message))

    def _state(self) -> dict[str, Any]:
        state: dict[str, Any] = self.session.state.setdefault(self.source, {})
        return state


def uncompacted(messages: Iterable[Message]) -> list[Message]:
    """Return the messages without summaries, which are no model's and no user's, and without marks of compaction."""
    own = [message for message in messages if not _is_summary(message)]
    for message in own:
        marked = _MARKS & message.additional_properties.keys()
        for mark in marked:
            del message.additional_properties[mark]
        if marked and (message.message_id or "").startswith(_GIVEN_ID):
            message.message_id = None
    return own


def _compaction_in(messages: Sequence[Message]) -> dict[str, Any]:
    """Return which messages are excluded, and each summary that still counts with the message that it stands before.

    A message of the thread is named by its position, and a message that the run added by its number: it will stand
    behind those of the thread, the last of which is at `after`.
    """
    if not any(_MARKS & message.additional_properties.keys() for message in messages):
        return {}
    positions = [position_of(message) for message in messages if is_of_thread(message)]
    number = sum(not is_of_thread(message) and not _is_summary(message) for message in messages)
    excluded: list[Any] = []
    summaries: list[dict[str, Any]] = []
    follower: Any = number
    for message in reversed(messages):
        is_excluded = message.additional_properties.get(EXCLUDED_KEY)
        if _is_summary(message):
            if not is_excluded:
                summaries.insert(0, {"before": follower, "message": message})
            continue
        if is_of_thread(message):
            follower = list(position_of(message))
        else:
            number -= 1
            follower = number
        if is_excluded:
            excluded.append(follower)
    if not excluded and not summaries:
        return {}
    return {"after": list(max(positions)) if positions else None, "excluded": excluded, "summaries": summaries}


def _compacted(messages: Iterable[Message], compaction: dict[str, Any] | None) -> list[Message]:
    """Return the messages with the exclusions and summaries of an earlier run; those of none are archived."""
    thread = list(messages)
    if compaction is None:
        return thread
    after = compaction["after"]
    added = [message for message in thread if after is None or position_of(message) > tuple(after)]
    by_key: dict[Any, Message] = {position_of(message): message for message in thread}
    by_key.update(enumerate(added))
    for name in compaction["excluded"]:
        if (message := by_key.get(_key(name))) is not None:
            message.additional_properties[EXCLUDED_KEY] = True
    summaries: dict[int | None, list[Message]] = defaultdict(list)
    for summary in compaction["summaries"]:
        key = _key(summary["before"])
        first = thread[0] if thread and not isinstance(key, int) else None  # what it stood before is archived
        follower = by_key.get(key, first)
        summaries[None if follower is None else id(follower)].append(summary["message"])
    compacted: list[Message] = []
    for message in thread:
        compacted += [*summaries[id(message)], message]
    return compacted + summaries[None]


def _key(name: Any) -> Any:
    return tuple(name) if isinstance(name, list) else name


def _is_summary(message: Message) -> bool:
    """Return whether a compaction strategy put the message in, for others that it stands for."""
    group = message.additional_properties.get(GROUP_ANNOTATION_KEY)
    return isinstance(group, dict) and SUMMARY_OF_MESSAGE_IDS_KEY in group
