"""Who is promised the outcome of a run, and what is left when a promise cannot be made.

Theory. A promise is kept by the thread's entity, which a signal calls. So whoever promises something has a signal of
its own taken first, unless the log proves that one was: a live holder proves nothing, it may die before its signal.
"""

from __future__ import annotations

from hosting.errors import ThreadDeletingError
from hosting.thread.commands import Attach, Outcome, Refused, SignalFailed, Unchanged
from hosting.thread.draft import Draft
from hosting.thread.events import Attached, CancelRequested, Released
from hosting.thread.head import Head
from hosting.thread.rows import KeyRow, RowChange, key_name


def attach(head: Head, command: Attach) -> Outcome:
    """Promise the outcome of a run, with a signal of one's own where the log does not prove that one was taken."""
    run = head.run(command.run_id)
    if run is None:
        return not_open(head, command.run_id)
    if run.signalled:
        return Unchanged(run.id)
    if run.attached:
        return Unchanged(command.run_id, signal=True)
    return Draft(head).add(Attached(at=command.at, run_id=run.id)).change(run.id, signal=True)


def not_open(head: Head, run_id: str) -> Unchanged:
    """Say that a run has ended; whoever is told so by a thread that is being deleted signals for that."""
    return Unchanged(run_id, signal=head.state == "deleting")


def signal_failed(head: Head, command: SignalFailed) -> Outcome:
    """Cancel the run if nobody else was promised anything of it, and free its key; else let go of its claim.

    A run that brings decisions stays: they are made, and whoever repeats the last of them finds it and signals.
    """
    run = head.run(command.run_id)
    if run is None:
        return Unchanged(command.run_id)
    is_own_claim = head.claim is not None and head.claim.token == command.token
    is_untouched = run.attempts == 0 or (run.attempts == 1 and is_own_claim)
    draft = Draft(head)
    if run.decides or run.attached or run.signalled or not is_untouched:
        if not is_own_claim:
            return Unchanged(run.id)
        released = Released(at=command.at, run_id=run.id, signalled=False)
        return draft.add(released).end_in_turn(command.at).change(run.id)
    if run.cancelled is None:
        draft.add(CancelRequested(at=command.at, run_id=run.id))
    if is_own_claim:
        draft.add(Released(at=command.at, run_id=run.id, signalled=False))
    if command.key is not None:
        row = KeyRow(epoch=head.epoch, run_id=None, fingerprint=command.fingerprint)
        draft.row(RowChange(key_name(command.key), run.first, row, is_new=False))
    return draft.end_in_turn(command.at).change(run.id)


def being_deleted() -> Refused:
    """Refuse a run; whoever meets this signals, so that the deletion comes to its end."""
    error = ThreadDeletingError("The thread is being deleted and takes no runs until that is done. Try again then.")
    return Refused(error, signal=True)
