"""The thread's messages as agent-framework's own history: loaded from the conversation, stored by the entity."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agent_framework import AgentSession, HistoryProvider, Message, SupportsAgentRun

from hosting.errors import ConfigurationError

SOURCE_ID = "durable_thread"
ATTRIBUTION = {"source_id": SOURCE_ID, "source_type": "ThreadHistory"}


class ThreadSession(AgentSession):
    """A framework session that carries the messages of its thread for the length of one run."""

    history: Sequence[Message] = ()


class ThreadHistory(HistoryProvider):
    """Gives a run the messages of its `ThreadSession` and saves none: the entity writes the conversation."""

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
        with the thread; the mark it leaves on a message is set here.
        """
        if isinstance(session, ThreadSession) and session.history:
            for message in session.history:
                message.additional_properties.setdefault("_attribution", ATTRIBUTION)
            context.context_messages[self.source_id] = list(session.history)

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
    """Make the agent read its threads from here; tell whether it takes history providers at all.

    An agent that does not (any class with `run`) is given the whole thread as its messages instead. A second provider
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
