"""When a conversation's time is up: so long after its last successful turn, where its agent has a time to live.

Written by the turn itself, from the time in its record, so that a turn applied twice gives one document. Other packages
write and read the same property. A time that cannot be read is never up.
"""

from __future__ import annotations

from hosting.errors import ConfigurationError
from hosting.thread.events import Completed, Terminal
from hosting.times import read_utc, utc
from state.conversation import with_expiration
from state.models import Conversation

LONGEST_TTL_SECONDS = 315_360_000
"""Ten years."""


def checked_ttl(agent: str, own_seconds: float | None, default_seconds: float) -> float | None:
    """Return an agent's time to live, None for no end; raises `ConfigurationError` for one that is none."""
    seconds = default_seconds if own_seconds is None else own_seconds
    if not 0 <= seconds <= LONGEST_TTL_SECONDS:
        raise ConfigurationError(
            f"ttl_seconds of agent {agent!r} is {seconds:g}: it must be 0, for no end, to {LONGEST_TTL_SECONDS}."
        )
    return float(seconds) or None


def after_turn(conversation: Conversation, terminal: Terminal | None, ttl_seconds: float | None) -> Conversation:
    """Return the conversation with the expiration that a turn gives it.

    An answer begins its time anew, or ends it where the agent has none any more. A run without an answer changes
    nothing, but for a conversation that has no expiration yet: without an answer it would stay for ever.
    """
    if terminal is None or (ttl_seconds is None and not isinstance(terminal, Completed)):
        return conversation
    if ttl_seconds is None:
        return with_expiration(conversation, None)
    if isinstance(terminal, Completed) or conversation.data.expiration_time_utc is None:
        return begun(conversation, terminal.at, ttl_seconds)
    return conversation


def begun(conversation: Conversation, at: float, ttl_seconds: float) -> Conversation:
    """Return the conversation with its time beginning at `at`."""
    return with_expiration(conversation, utc(at + ttl_seconds))


def is_expired(conversation: Conversation, now: float) -> bool:
    """Tell whether the conversation's time is up."""
    at = read_utc(conversation.data.expiration_time_utc or "")
    return at is not None and at <= now
