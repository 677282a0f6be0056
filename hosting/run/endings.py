"""Terminal records that are made of something else than an answer: of an error of ours, or of a stored entry."""

from __future__ import annotations

from hosting.errors import (
    RunCancelledError,
    RunFailedError,
)
from hosting.thread.approvals import pending_approvals
from hosting.thread.endings import unanswered
from hosting.thread.events import Cancelled, Completed, Failed, NoAnswer, Terminal, TimedOut
from state.codec import entry_value
from state.contents import ErrorContent
from state.conversation import message_count, pause_of
from state.convert import agent_response
from state.models import Conversation, ResponseEntry

_ENDINGS: dict[str, type[Failed | TimedOut | Cancelled]] = {
    "failed": Failed,
    "timed_out": TimedOut,
    "cancelled": Cancelled,
}


def cancelled(run_id: str, at: float) -> NoAnswer:
    """Return the record of a run that somebody cancelled before an attempt held it, or after the attempt was lost."""
    return unanswered(run_id, at, RunCancelledError("The run was cancelled."))


def recorded(entry: ResponseEntry, at: float, conversation: Conversation) -> Terminal:
    """Return the record of a run whose outcome stands in its conversation only."""
    ending = _ENDINGS.get(entry.status or "")
    if ending is None:
        return _completed(entry, at, conversation)
    contents = (content for message in entry.messages for content in message.contents)
    error = next((content for content in contents if isinstance(content, ErrorContent)), None)
    code = (error and error.error_code) or RunFailedError.code
    return ending(
        at=at,
        run_id=entry.correlation_id or "",
        code=code,
        detail=(error and error.message) or "The run failed.",
        entry=entry_value(entry),
    )


def _completed(entry: ResponseEntry, at: float, conversation: Conversation) -> Completed:
    completed = Completed(
        at=at, run_id=entry.correlation_id or "", entry=entry_value(entry), message_count=message_count(conversation)
    )
    pause = pause_of(conversation)
    if pause is None or pause.run_id != entry.correlation_id:
        return completed
    approvals = pending_approvals(pause.run_id, agent_response(entry))
    return completed.model_copy(update={"approvals": approvals, "expires_at": pause.expires_at})
