"""Terminal records that are made of something else than an answer: of an error of ours, or of a stored entry."""

from __future__ import annotations

from hosting.errors import HostingError, RunFailedError
from hosting.events import Cancelled, Completed, Failed, Terminal, TimedOut
from hosting.times import iso
from state.codec import entry_value
from state.contents import ErrorContent
from state.convert import failure_entry
from state.models import ResponseEntry

_ENDINGS: dict[str, type[Failed | TimedOut | Cancelled]] = {
    "failed": Failed,
    "timed_out": TimedOut,
    "cancelled": Cancelled,
}


def failed(run_id: str, at: float, error: HostingError) -> Failed:
    """Return the record of a run that failed for the reason of `error` (one of `errors.RUN_ERRORS`)."""
    entry = failure_entry(run_id=run_id, created_at=iso(at), status="failed", code=error.code, message=error.detail)
    return Failed(at=at, code=error.code, detail=error.detail, entry=entry_value(entry))


def timed_out(run_id: str, at: float, error: HostingError) -> TimedOut:
    """Return the record of a run that passed its time limit."""
    entry = failure_entry(run_id=run_id, created_at=iso(at), status="timed_out", code=error.code, message=error.detail)
    return TimedOut(at=at, detail=error.detail, entry=entry_value(entry))


def recorded(entry: ResponseEntry, at: float, message_count: int) -> Terminal:
    """Return the record of a run whose outcome stands in its conversation only."""
    ending = _ENDINGS.get(entry.status or "")
    if ending is None:
        return Completed(at=at, entry=entry_value(entry), message_count=message_count)
    contents = (content for message in entry.messages for content in message.contents)
    error = next((content for content in contents if isinstance(content, ErrorContent)), None)
    code = (error and error.error_code) or RunFailedError.code
    return ending(at=at, code=code, detail=(error and error.message) or "The run failed.", entry=entry_value(entry))
