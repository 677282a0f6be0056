"""How a run ends without an answer: one event for each reason that is ours."""

from __future__ import annotations

from hosting.errors import HostingError, RunCancelledError, RunTimedOutError
from hosting.thread.events import Cancelled, Failed, TimedOut
from hosting.times import iso
from state.codec import entry_value
from state.convert import failure_entry

_KINDS: dict[str, tuple[type[Failed | TimedOut | Cancelled], str]] = {
    RunTimedOutError.code: (TimedOut, "timed_out"),
    RunCancelledError.code: (Cancelled, "cancelled"),
}


def unanswered(run_id: str, at: float, error: HostingError) -> Failed | TimedOut | Cancelled:
    """Return the end of a run for the reason of `error`, one of `errors.RUN_ERRORS`."""
    kind, status = _KINDS.get(error.code, (Failed, "failed"))
    entry = failure_entry(run_id=run_id, created_at=iso(at), status=status, code=error.code, message=error.detail)
    ended = kind(at=at, run_id=run_id, code=error.code, detail=error.detail, entry=entry_value(entry))
    return ended.remembering(entry)
