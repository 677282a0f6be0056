"""How a run ends without an answer, and what the conversation keeps of an end."""

from __future__ import annotations

from hosting.errors import (
    AnswerTooLargeError,
    ApprovalsPendingError,
    ApprovalsVoidError,
    HostingError,
    RunCancelledError,
    RunTimedOutError,
    ThreadFullError,
    UnreadableStateError,
)
from hosting.thread.events import Cancelled, Completed, Failed, NoAnswer, Terminal, TimedOut
from hosting.times import iso
from state.codec import entry_value
from state.convert import failure_entry
from state.errors import MalformedError
from state.models import Entry

_KINDS: dict[str, tuple[type[NoAnswer], str]] = {
    RunTimedOutError.code: (TimedOut, "timed_out"),
    RunCancelledError.code: (Cancelled, "cancelled"),
}

_WITHOUT_PLACE = frozenset(
    error.code for error in (ThreadFullError, UnreadableStateError, ApprovalsPendingError, ApprovalsVoidError)
)
"""Runs that were refused on account of the document as it stands: it stays so."""


def unanswered(run_id: str, at: float, error: HostingError) -> NoAnswer:
    """Return the end of a run for the reason of `error`, one of `errors.RUN_ERRORS`."""
    kind, status = _KINDS.get(error.code, (Failed, "failed"))
    entry = failure_entry(run_id=run_id, created_at=iso(at), status=status, code=error.code, message=error.detail)
    ended = kind(at=at, run_id=run_id, code=error.code, detail=error.detail, entry=entry_value(entry))
    return ended.remembering(entry)


def has_place(terminal: Terminal) -> bool:
    """Tell whether the conversation has a place for a run that ended so."""
    return isinstance(terminal, Completed) or terminal.code not in _WITHOUT_PLACE


def kept_entry(terminal: Terminal) -> Entry:
    """Return what the conversation keeps of a run: its response, or an error in the place of one that is too large."""
    try:
        if not isinstance(terminal, Completed) or terminal.kept:
            return terminal.response
    except MalformedError:
        return _failed(terminal, UnreadableStateError.code, "The run's stored response cannot be read.")
    message = f"The answer is larger than a conversation may be. It is in the log of run {terminal.run_id} only."
    return _failed(terminal, AnswerTooLargeError.code, message)


def _failed(terminal: Terminal, code: str, message: str) -> Entry:
    created_at = iso(terminal.at)
    return failure_entry(run_id=terminal.run_id, created_at=created_at, status="failed", code=code, message=message)
