"""The rules for commands to a thread as a whole, by which `hosting.core.thread.decide` decides.

A thread is imported, forked, shared, described, written to, emptied, trimmed and deleted; none of this begins a run.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hosting import errors
from hosting.core.thread import commands, thread_events
from hosting.core.thread.draft import Draft, approvals_pending_error, refuse_reused_key, refuse_while_deleting
from hosting.core.thread.head import Head
from hosting.core.thread.rows import DeletedRow, KeyRow, RowChange
from hosting.core.thread.sources import fork_source
from hosting.metadata import Metadata, merged

MOST_GRANTS = 16
"""With how many principals a thread is shared; they stand in its head."""


def _reset(head: Head, command: commands.ResetThread) -> commands.Outcome:
    if head.state == "deleting":
        return refuse_while_deleting()
    if head.state == "deleted":
        return commands.Unchanged()
    return Draft(head).add(thread_events.Reset(at=command.at)).change(signal=True)


def _withdraw_standing(head: Head, command: commands.WithdrawStanding) -> commands.Outcome:
    """A run keeps the rules that it began with, in each of its attempts: else a later one asks about a call made."""
    if head.state != "open":
        return refuse_while_deleting() if head.state == "deleting" else commands.Unchanged()
    if (run := head.next_run) is not None and run.attempts:
        sentence = f"Run {run.id} is under way, and keeps its approvals. Cancel it, or try again when it has ended."
        return commands.Refused(errors.ThreadBusyError(sentence, run_id=run.id))
    return Draft(head).add(thread_events.StandingWithdrawn(at=command.at, id=command.id)).change(signal=True)


def _import(head: Head, command: commands.ImportThread) -> commands.Outcome:
    is_empty = head.position == 0 or head.state == "deleted"
    has_import = head.imported is not None and max(head.imported.position, head.described) == head.position
    epoch = head.epoch + 1 if head.state == "deleted" else head.epoch
    if not (is_empty or (has_import and head.state == "open")) or epoch != command.epoch:
        return commands.Refused(errors.ThreadChangedError("That owner already has a thread with this id."))
    imported = thread_events.Imported(at=command.at, text=command.text, source=command.source.text)
    return Draft(head).add(imported, *_described(command.at, command.metadata)).change(signal=True)


def _fork(head: Head, command: commands.ForkThread) -> commands.Outcome:
    if head.state == "deleting":
        return refuse_while_deleting()
    if (source := fork_source(head)) is not None and source.is_of_same_request(command.source):
        return commands.Unchanged(signal=True)
    epoch = head.epoch + 1 if head.state == "deleted" else head.epoch
    if (head.position and head.state == "open") or epoch != command.epoch:
        return commands.Refused(errors.ThreadExistsError("Another thread has this id. Send another id, or none."))
    imported = thread_events.Imported(at=command.at, text=command.text, source=command.source.text, title=command.title)
    return Draft(head).add(imported, *_described(command.at, command.metadata)).change(signal=True)


def _put_messages(head: Head, command: commands.PutMessages) -> commands.Outcome:
    """A new message would stand between a call that waits and its result, which no model takes."""
    put, row = command.put, command.row
    if command.epoch not in (None, head.epoch) or isinstance(row, DeletedRow):
        return commands.Refused(errors.ThreadDeletedError("The thread was deleted."))
    if row is not None and row.run_id is not None:
        return commands.Unchanged(row.run_id) if row.fingerprint == command.fingerprint else refuse_reused_key()
    if (refusal := _unless_idle(head)) is not None:
        return refusal
    if head.is_waiting_for_approval(put.at):
        return commands.Refused(approvals_pending_error())
    draft = Draft(head).add(put)
    if command.key is not None:
        row = KeyRow(epoch=draft.head.epoch, run_id=put.id, fingerprint=command.fingerprint)
        draft.row(RowChange(KeyRow.name_of(command.key), draft.head.position, row, command.row is None))
    return draft.change(put.id, signal=True)


def _write_session(head: Head, command: commands.WriteSession) -> commands.Outcome:
    """The end of a run brings the whole session: a write while one is open would be lost, or be another attempt's."""
    if (refusal := _unless_idle(head)) is not None:
        return refusal
    if head.position != command.position:
        return commands.Refused(errors.ThreadChangedError("The thread changed while its state was written. Try again."))
    return Draft(head).add(thread_events.SessionWritten(at=command.at, session=command.session)).change(signal=True)


def _unless_idle(head: Head) -> commands.Refused | None:
    """Return why nothing is written into the thread that only runs write otherwise, or None."""
    if head.state == "deleting":
        return refuse_while_deleting()
    if head.temporary:
        return commands.Refused(errors.ThreadDeletingError("The thread is not stored: it is deleted after its answer."))
    if (run := head.next_run) is not None:
        sentence = f"Run {run.id} of this thread has not ended. Send the request again when it has."
        return commands.Refused(errors.ThreadBusyError(sentence, run_id=run.id))
    return None


def _share(head: Head, command: commands.ShareThread) -> commands.Outcome:
    if (refusal := _unless_open(head, command.epoch)) is not None:
        return refusal
    if len(head.grants) >= MOST_GRANTS:
        return commands.Refused(
            errors.TooManyGrantsError(
                f"The thread is shared with {MOST_GRANTS} already. Withdraw a grant that is not needed."
            )
        )
    granted = thread_events.Granted(at=command.at, id=command.id, principal=command.principal, access=command.access)
    return Draft(head).add(granted).change()


def _withdraw(head: Head, command: commands.WithdrawGrant) -> commands.Outcome:
    if not any(grant.id == command.id for grant in head.grants):
        return commands.Unchanged()
    return Draft(head).add(thread_events.Withdrawn(at=command.at, id=command.id)).change()


def _describe(head: Head, command: commands.DescribeThread) -> commands.Outcome:
    if (refusal := _unless_open(head, command.epoch)) is not None:
        return refusal
    if command.described not in (None, head.described):
        return commands.Refused(errors.ThreadChangedError("The thread's metadata changed. Try again."))
    try:
        metadata = merged({} if command.replaces else head.metadata, command.metadata)
    except errors.InvalidFieldError as error:
        return commands.Refused(error)
    return Draft(head).add(thread_events.Described(at=command.at, metadata=metadata)).change(signal=True)


def _described(moment: float, metadata: Metadata) -> list[thread_events.Described]:
    return [thread_events.Described(at=moment, metadata=dict(metadata))] if metadata else []


def _set_receiver(head: Head, command: commands.SetReceiver) -> commands.Outcome:
    if (refusal := _unless_open(head, command.epoch)) is not None:
        return refusal
    return (
        commands.Unchanged()
        if head.has_receivers
        else Draft(head).add(thread_events.ReceiverSet(at=command.at)).change()
    )


def _unless_open(head: Head, epoch: int) -> commands.Refused | None:
    """Return why nothing is added to the thread of that epoch, or None."""
    if head.state == "deleting":
        return refuse_while_deleting()
    if head.state == "deleted" or head.epoch != epoch:
        return commands.Refused(errors.ThreadDeletedError("The thread was deleted."))
    return None


def _delete(head: Head, command: commands.DeleteThread) -> commands.Outcome:
    if head.state != "open":
        return commands.Unchanged(signal=head.state == "deleting")
    has_moved = command.position is not None and command.position != head.position
    if has_moved or (command.reason != "asked" and head.runs):
        return commands.Unchanged()
    return Draft(head).add(thread_events.Deleting(at=command.at, reason=command.reason)).change(signal=True)


def _finish_delete(head: Head, command: commands.FinishDelete) -> commands.Outcome:
    if head.state != "deleting":
        return commands.Unchanged()
    return Draft(head).add(thread_events.Deleted(at=command.at, receipt=dict(command.receipt))).change()


def _record_instances(head: Head, command: commands.RecordInstances) -> commands.Outcome:
    has_moved = command.position is not None and command.position != head.position
    if head.state != "deleted" or head.epoch != command.epoch or has_moved:
        return commands.Unchanged()
    return Draft(head).add(thread_events.InstancesRecorded(at=command.at, instances=command.instances)).change()


def _trim(head: Head, command: commands.TrimThread) -> commands.Outcome:
    """Trim no events that an open run, or a run with waiting approvals, needs for its answers."""
    needed = [run.since or run.first for run in head.runs[:1]] + ([head.waiting.first] if head.waiting else [])
    through = min([command.through, head.position, *(first - 1 for first in needed)])
    if through <= head.trimmed or head.state != "open":
        return commands.Unchanged()
    return Draft(head).add(thread_events.Trimmed(at=command.at, through=through)).change()


THREAD_RULES: dict[type[commands.Command], Callable[[Head, Any], commands.Outcome]] = {
    commands.ResetThread: _reset,
    commands.WithdrawStanding: _withdraw_standing,
    commands.ImportThread: _import,
    commands.ForkThread: _fork,
    commands.PutMessages: _put_messages,
    commands.WriteSession: _write_session,
    commands.ShareThread: _share,
    commands.WithdrawGrant: _withdraw,
    commands.DescribeThread: _describe,
    commands.SetReceiver: _set_receiver,
    commands.DeleteThread: _delete,
    commands.FinishDelete: _finish_delete,
    commands.RecordInstances: _record_instances,
    commands.TrimThread: _trim,
}
