"""Events as runs have them, for every test of a run log."""

from hosting.events import Accepted, ApprovalAnswered, CancelRequested, Signalled, Started
from hosting.requests import Decision, RunRequest
from hosting.thread.events import Completed, Failed

ENTRY = {"$type": "response", "correlationId": "run", "messages": [], "kept": {"deep": [1, 2.5, None, "ü\u2028"]}}


def accepted(run_id: str, fingerprint: str = "print", thread_id: str = "thread", at: float = 1.25) -> Accepted:
    """Return the first event of a run."""
    request = RunRequest(message='line one\nline "two" ü 😀', enable_tool_calls=False, orchestration_id="o-1")
    return Accepted(at=at, run_id=run_id, agent="Joker", thread_id=thread_id, fingerprint=fingerprint, request=request)


def started(token: str = "token") -> Started:
    """Return a first claim."""
    return Started(at=2.5, attempt=1, token=token, deadline=302.5)


def signalled(at: float) -> Signalled:
    """Return a signal, told apart by its time."""
    return Signalled(at=at)


def completed() -> Completed:
    """Return the terminal record of a run that answered."""
    return Completed(
        at=3.5, run_id="run", entry=ENTRY, session={"type": "session", "state": {"a": [1]}}, message_count=2
    )


def answered(*, approved: bool) -> ApprovalAnswered:
    """Return somebody's answer to an approval, behind the end of its run."""
    return ApprovalAnswered(at=4.5, decision=Decision(id="a-1", approved=approved, reason="because"))


def cancel_requested() -> CancelRequested:
    """Return somebody's wish that the run should end."""
    return CancelRequested(at=3.0)


def failed() -> Failed:
    """Return the terminal record of a run that did not."""
    return Failed(at=3.5, run_id="run", code="run_failed", detail="It failed.", entry=ENTRY)
