"""A run in words: its status, and its end for readers of text only."""

from __future__ import annotations

from collections.abc import Mapping

from hosting.core.outcome import RunStatus, completed_text, open_status
from hosting.core.thread.events import Completed
from hosting.core.thread.finish import finish_reason, is_incomplete
from hosting.core.thread.run import Run
from hosting.core.thread.run_request import PauseKind, PendingApproval
from hosting.progress import Progress
from hosting.visible import visible, visible_json, visible_line

_ANSWERS: Mapping[PauseKind, tuple[str, str]] = {
    "approve": ("approval", '{"approved": true} or {"approved": false, "reason": "..."}'),
    "ask": ("an answer", '{"value": ...}'),
    "client_tool": ("a result", '{"value": ...} or {"error": "..."}'),
    "authorization": ("a sign-in", '{"approved": true} or {"approved": false, "reason": "..."}'),
}
"""What a run waits for, and the body that has it, by the kind of the wait."""


def text_with_decisions(run: Run, terminal: Completed, url: str = "") -> str:
    """Return the answer for readers of text only: the agent's text, and a line for each call that waits.

    With a `url`, how the calls are answered there.
    """
    if not (approvals := run.requested_approvals):
        return completed_text(terminal)
    waits = [
        f"Waits for {_ANSWERS[approval.kind][0]} {approval.id}: {asked_in_words(approval)}" for approval in approvals
    ]
    choice = " or ".join(dict.fromkeys(_ANSWERS[approval.kind][1] for approval in approvals))
    how = f"To answer, POST {choice} as application/json to {url}" if url else ""
    return "\n\n".join(part for part in (visible(completed_text(terminal)), "\n".join(waits), how) if part)


def asked_in_words(approval: PendingApproval) -> str:
    """Return the question in its words, where to sign in, or the call that waits."""
    if approval.authorization is not None:
        return f"{visible_line(approval.tool)}: {visible_line(approval.authorization.words)}"
    call = f"{visible_line(approval.tool)}({visible_json(approval.arguments)})"
    return call if approval.question is None else visible_line(approval.question)


def incomplete_note(terminal: Completed) -> str:
    """Return a sentence for readers of text only, if the answer is incomplete; else nothing."""
    reason = visible_line(finish_reason(terminal) or "")[:80]
    return f"This answer is incomplete: its finish_reason is {reason}." if is_incomplete(terminal) else ""


def progress_of(run: Run) -> Mapping[str, Progress]:
    """Return how far a run says that it is, as a member of its own; nothing once it has ended."""
    if run.progress is None or run.end is not None:
        return {}
    return {"progress": {"share": run.progress.share, "text": run.progress.text}}


def status_of(run: Run) -> RunStatus:
    """Return the run's status in one word."""
    if (end := run.end) is not None:
        return "success" if isinstance(end, Completed) else end.kind
    return open_status(run)
