"""Why a model ended an answer, in its own words, and whether the answer is whole by that.

Theory. The framework hands on what the model's provider says: its own four words where a client maps to them, else the
provider's. The answer of a run has the word of its newest model call. Nothing is guessed: an answer without a word is
whole, because many clients never give one. Where a provider always gives one and did not, the runner says `broken_off`
in its place (`hosting.core.agent.finish_reasons`).
"""

from __future__ import annotations

from typing import Final

from hosting.core.thread.events import Completed, ModelResult, Terminal
from state.models import OURS

BROKEN_OFF: Final = "broken_off"
"""The model's stream ended without the word with which its provider ends each."""

TOOL_LIMIT: Final = "tool_limit"
"""The framework made no more tool calls, and the model had no text without them."""

REFUSAL: Final = "refusal"
"""The model refused to answer, in words that its provider marks as a refusal."""

_FIELD: Final = "finish_reason"
_WHOLE: Final = frozenset(
    {"stop", "tool_calls", "function_call", "end_turn", "stop_sequence", "tool_use", "eos", "eos_token", "complete"}
)
"""The framework's two reasons, and providers' own reasons, for a complete answer."""


def finish_reason(event: Terminal | ModelResult | None) -> str | None:
    """Return why the model ended a run's answer, or the answer of one model call; None if no reason is known."""
    if isinstance(event, ModelResult):
        return word_of(event.response)
    return word_of(event.entry.get(OURS)) if isinstance(event, Completed) else None


def word_of(fields: object) -> str | None:
    """Return the same of our own fields in a response entry in stored form, or of a recorded model call's response."""
    reason = fields.get(_FIELD) if isinstance(fields, dict) else None
    return reason if isinstance(reason, str) and reason else None


def is_cut(reason: object) -> bool:
    """Return whether an answer that ended for this reason is no whole one."""
    return isinstance(reason, str) and bool(reason) and reason.lower() not in _WHOLE


def is_incomplete(event: Terminal | ModelResult | None) -> bool:
    """Return whether the answer is no whole one."""
    return is_cut(finish_reason(event))
