"""A failed instance's history as if its failures had not happened (host contract 4.3.4).

The failed ends, and the requests that they ended, become events without a meaning, in place and under their ids; so
the orchestrator, run again, asks for them again and gets the results that it had got. A sub-orchestration that failed
keeps its request, is rewound itself, and answers its parent when it ends. What was caught and lived through is
forgotten too, as on the real host; code that went another way because of it fails again, by the name of what it now
does not ask for.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from devhost.durable import events
from devhost.durable.ending import Turn
from devhost.durable.records import (
    EventMessage,
    History,
    Orchestration,
    Outgoing,
    Rewind,
    Status,
    orchestration_target,
)


def children_of(history: Iterable[events.Event]) -> list[str]:
    """Return the ids of the sub-orchestrations that the history asked for."""
    return [event.instance_id for event in history if isinstance(event, events.ChildCreated)]


def rewind(
    instance: Orchestration,
    history: Sequence[events.Event],
    reason: str | None,
    now: datetime,
    children: Mapping[str, Status],
) -> Turn:
    """Return what makes a failed instance run again; `children` are the statuses of `children_of` the history.

    It begins at the deepest failures: an instance that waits for a rewound child is told by that child alone. A child
    that cannot be rewound, because it was terminated or purged, is asked for anew.
    """
    failed = {event.task_id for event in history if isinstance(event, events.TaskFailed | events.ChildFailed)}
    asked = [event for event in history if isinstance(event, events.ChildCreated) and event.event_id in failed]
    again = [child for child in asked if children.get(child.instance_id) is Status.FAILED]
    kept = {child.event_id for child in again}
    outgoing = [Outgoing(orchestration_target(child.instance_id), Rewind(reason)) for child in again]
    if not again:
        told = events.GenericEvent(timestamp=now, text=reason)
        message = EventMessage(told, instance.execution_id)
        outgoing.append(Outgoing(orchestration_target(instance.instance_id), message))
    rewound = tuple(_emptied(event) if _is_undone(event, failed - kept) else event for event in history)
    pending = replace(instance, status=Status.PENDING, output=None, updated_at=now)
    return Turn(pending, History(rewound, is_new=True), tuple(outgoing))


def _is_undone(event: events.Event, undone: set[int]) -> bool:
    if isinstance(event, events.TaskScheduled | events.ChildCreated):
        return event.event_id in undone
    return isinstance(event, events.TaskFailed | events.ChildFailed | events.ExecutionCompleted)


def _emptied(event: events.Event) -> events.Event:
    return events.GenericEvent(timestamp=event.timestamp, event_id=event.event_id, text=None)
