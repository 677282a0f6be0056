"""Terminal records for runs that end without an answer: our sentence, our code, and the entry the conversation gets."""

from __future__ import annotations

from hosting.errors import HostingError
from hosting.events import Failed, TimedOut
from hosting.times import iso
from state.codec import entry_value
from state.convert import failure_entry


def failed(run_id: str, at: float, error: HostingError) -> Failed:
    """Return the record of a run that failed for the reason of `error` (one of `errors.RUN_ERRORS`)."""
    entry = failure_entry(run_id=run_id, created_at=iso(at), status="failed", code=error.code, message=error.detail)
    return Failed(at=at, code=error.code, detail=error.detail, entry=entry_value(entry))


def timed_out(run_id: str, at: float, error: HostingError) -> TimedOut:
    """Return the record of a run that passed its time limit."""
    entry = failure_entry(run_id=run_id, created_at=iso(at), status="timed_out", code=error.code, message=error.detail)
    return TimedOut(at=at, detail=error.detail, entry=entry_value(entry))
