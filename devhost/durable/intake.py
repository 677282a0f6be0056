"""What waits for an orchestration, sorted: which events its next episode takes in, and what is dropped or refused."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from devhost.durable import events
from devhost.durable.records import EventMessage, Orchestration, Outgoing, Status, orchestration_target


@dataclass(frozen=True)
class Intake:
    """The instance that the next episode is for, None when nobody is there; a `is_new` one has no past."""

    orchestration: Orchestration | None
    events: tuple[events.Event, ...] = ()
    refusals: tuple[Outgoing, ...] = ()
    is_new: bool = False


def take_in(known: Orchestration | None, messages: Sequence[EventMessage]) -> Intake:
    """Sort the messages: a start replaces an instance that has ended, everything else needs a live one.

    Messages for another execution, and for an instance that ended or never was, are dropped, and so is the start of an
    execution that has begun. A sub-orchestration whose explicit id is taken by a live instance is refused to its
    parent, where the real host would leave it hanging. One that its own parent asks for again, in an episode that was
    sent before and not written, begins anew: the real host drops second starts of other instances only.
    """
    current, is_new = known, False
    refusals: list[Outgoing] = []
    for message in messages:
        start = message.event
        if not isinstance(start, events.ExecutionStarted):
            continue
        if current is not None and current.execution_id == start.execution_id:
            continue
        if current is None or current.status.is_terminal or (start.parent and start.parent == current.parent):
            current, is_new = new_orchestration(start), True
        else:
            refusals += _refuse(start, current)
    if current is None or current.status.is_terminal:
        return Intake(None, refusals=tuple(refusals))
    return Intake(current, _in_order(current, messages), tuple(refusals), is_new)


def new_orchestration(start: events.ExecutionStarted) -> Orchestration:
    """Return the record of an instance whose first episode is still to come."""
    return Orchestration(
        instance_id=start.instance_id,
        name=start.name,
        execution_id=start.execution_id,
        status=Status.PENDING,
        input=start.input,
        created_at=start.timestamp,
        updated_at=start.timestamp,
        parent=start.parent,
        version=start.version,
    )


def _in_order(current: Orchestration, messages: Sequence[EventMessage]) -> tuple[events.Event, ...]:
    """Return the events for the instance: its start first, though a message may have overtaken it, then in order."""
    taken = [message for message in messages if _is_for(current, message)]
    taken.sort(key=lambda message: not isinstance(message.event, events.ExecutionStarted))
    return tuple(event for message in taken for event in (message.event, *message.carried))


def _is_for(current: Orchestration, message: EventMessage) -> bool:
    if isinstance(message.event, events.ExecutionStarted):
        is_expected = current.status is Status.PENDING or current.is_continued
        return is_expected and message.event.execution_id == current.execution_id
    return message.execution_id in (None, current.execution_id)


def _refuse(start: events.ExecutionStarted, current: Orchestration) -> list[Outgoing]:
    parent = start.parent
    if parent is None:
        return []
    failed = events.ChildFailed(
        timestamp=start.timestamp,
        task_id=parent.task_id,
        reason=f"An Orchestration instance with the ID {start.instance_id} and the status {current.status.value} "
        "already exists.",
        details=None,
    )
    return [Outgoing(orchestration_target(parent.instance_id), EventMessage(failed, parent.execution_id))]
