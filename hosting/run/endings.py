"""Terminal records that are made of something else than an answer: of an error of ours, or of a stored entry."""

from __future__ import annotations

from hosting.errors import (
    AnswerTooLargeError,
    ApprovalsPendingError,
    ApprovalsVoidError,
    HostingError,
    RunCancelledError,
    RunFailedError,
    RunTimedOutError,
    ThreadFullError,
    UnreadableStateError,
)
from hosting.events import Cancelled, Completed, Ending, Failed, Terminal, TimedOut
from hosting.thread.approvals import pending_approvals
from hosting.times import iso
from state.codec import entry_value
from state.contents import ErrorContent
from state.conversation import message_count, pause_of
from state.convert import agent_response, failure_entry
from state.models import Conversation, Entry, ResponseEntry

_ENDINGS: dict[str, type[Failed | TimedOut | Cancelled]] = {
    "failed": Failed,
    "timed_out": TimedOut,
    "cancelled": Cancelled,
}
_STATUSES = {RunTimedOutError.code: "timed_out", RunCancelledError.code: "cancelled"}


# Runs that were refused on account of the document as it stands: it stays so.
_WITHOUT_PLACE = frozenset(
    error.code
    for error in (
        ThreadFullError,
        UnreadableStateError,
        ApprovalsPendingError,
        ApprovalsVoidError,
    )
)


def has_place(terminal: Terminal) -> bool:
    """Tell whether the conversation has a place for a run that ended so."""
    return not (isinstance(terminal, Ending) and terminal.code in _WITHOUT_PLACE)


def kept_entry(run_id: str, terminal: Terminal) -> Entry:
    """Return what the conversation keeps of a run: its response, or an error in the place of one that is too large."""
    if not isinstance(terminal, Completed) or terminal.kept:
        return terminal.response
    message = f"The answer is larger than a conversation may be. It is in the log of run {run_id} only."
    code = AnswerTooLargeError.code
    return failure_entry(run_id=run_id, created_at=iso(terminal.at), status="failed", code=code, message=message)


def ended(run_id: str, at: float, error: HostingError) -> Ending:
    """Return the record of a run without an answer, for the reason of `error` (one of `errors.RUN_ERRORS`)."""
    status = _STATUSES.get(error.code, "failed")
    entry = failure_entry(run_id=run_id, created_at=iso(at), status=status, code=error.code, message=error.detail)
    return _ENDINGS[status](at=at, code=error.code, detail=error.detail, entry=entry_value(entry)).remembering(entry)


def cancelled(run_id: str, at: float) -> Ending:
    """Return the record of a run that somebody cancelled before an attempt held it, or after the attempt was lost."""
    return ended(run_id, at, RunCancelledError("The run was cancelled."))


def recorded(entry: ResponseEntry, at: float, conversation: Conversation) -> Terminal:
    """Return the record of a run whose outcome stands in its conversation only."""
    ending = _ENDINGS.get(entry.status or "")
    if ending is None:
        return _completed(entry, at, conversation)
    contents = (content for message in entry.messages for content in message.contents)
    error = next((content for content in contents if isinstance(content, ErrorContent)), None)
    code = (error and error.error_code) or RunFailedError.code
    return ending(at=at, code=code, detail=(error and error.message) or "The run failed.", entry=entry_value(entry))


def _completed(entry: ResponseEntry, at: float, conversation: Conversation) -> Completed:
    completed = Completed(at=at, entry=entry_value(entry), message_count=message_count(conversation))
    pause = pause_of(conversation)
    if pause is None or pause.run_id != entry.correlation_id:
        return completed
    approvals = pending_approvals(pause.run_id, agent_response(entry))
    return completed.model_copy(update={"approvals": approvals, "expires_at": pause.expires_at})
