"""A failed instance's history as if its failures had not happened.

The failed ends, and the requests that they ended, become events without a meaning, in place and under their ids; so
the orchestrator, run again, asks for them again and gets the results that it had got. A sub-orchestration that failed
keeps its request, is rewound itself, and answers its parent when it ends. What was caught and lived through is
forgotten too, as on the real host; code that went another way because of it fails again, by the name of what it now
does not ask for.

Of a call with a retry policy the last attempt is repeated: the ones before it and the timers between them stay, so that
the code counts them as it did. The timer behind the last attempt, by which the code learnt that there would be no
other, is taken away. It had an id like every request, and the orchestrator gives it out anew: so whatever was asked for
behind that timer moves up by one id.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from devhost.durable import events
from devhost.durable.episode import EpisodeOutcome
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
) -> EpisodeOutcome:
    """Return what makes a failed instance run again; `children` are the statuses of `children_of` the history.

    It begins at the deepest failures: an instance that waits for a rewound child goes on when that child answers. A
    child that cannot be rewound is asked for anew: one that was terminated or purged, or whose request gets another
    id, for it would answer to the old one.
    """
    failures = _failures(history)
    again = [
        event
        for event in history
        if isinstance(event, events.ChildCreated)
        and event.event_id in failures.attempts
        and failures.new_id(event.event_id) == event.event_id
        and children.get(event.instance_id) is Status.FAILED
    ]
    kept = {child.event_id for child in again}
    outgoing = [Outgoing(orchestration_target(child.instance_id), Rewind(reason)) for child in again]
    if not again:
        resumed = events.GenericEvent(timestamp=now, text=reason)
        message = EventMessage(resumed, instance.execution_id)
        outgoing.append(Outgoing(orchestration_target(instance.instance_id), message))
    rewound = tuple(
        _emptied(event) if failures.undo(event, kept) else _moved(event, failures.new_id) for event in history
    )
    pending = replace(instance, status=Status.PENDING, output=None, updated_at=now)
    return EpisodeOutcome(pending, History(rewound, is_new=True), tuple(outgoing))


@dataclass(frozen=True)
class _Failures:
    """What is to be undone, by ids: `attempts` that failed and were not followed by another, `timers` behind them."""

    attempts: frozenset[int]
    timers: frozenset[int]

    def undo(self, event: events.Event, kept: set[int]) -> bool:
        """Say whether the event is to lose its meaning; the attempts in `kept` lose their ends alone."""
        match event:
            case events.TaskScheduled(event_id=number) | events.ChildCreated(event_id=number):
                return number in self.attempts and number not in kept
            case events.Failed(task_id=number):
                return number in self.attempts
            case events.TimerCreated(event_id=number) | events.TimerFired(timer_id=number):
                return number in self.timers
        return isinstance(event, events.ExecutionCompleted)

    def new_id(self, number: int) -> int:
        """Return the id that a request gets when the timers before it are gone."""
        return number - sum(timer < number for timer in self.timers)


def _failures(history: Sequence[events.Event]) -> _Failures:
    failed = {event.task_id for event in history if isinstance(event, events.Failed)}
    last: dict[int, int] = {}
    for event in history:
        if isinstance(event, events.TaskScheduled | events.ChildCreated):
            last[_call_of(event)] = event.event_id
    timers = [event for event in history if isinstance(event, events.TimerCreated) and event.retry_of is not None]
    return _Failures(
        attempts=frozenset(failed & set(last.values())),
        timers=frozenset(timer.event_id for timer in timers if timer.event_id > last[_call_of(timer)]),
    )


def _call_of(event: events.Retriable) -> int:
    """Return the id of the first attempt."""
    return event.event_id if event.retry_of is None else event.retry_of


def _emptied(event: events.Event) -> events.Event:
    return events.GenericEvent(timestamp=event.timestamp, event_id=event.event_id, text=None)


def _moved(event: events.Event, new_id: Callable[[int], int]) -> events.Event:
    """Return the event with the ids that the requests have from now on."""
    values = vars(event)
    moved: dict[str, Any] = {
        key: new_id(values[key]) for key in _IDS if values.get(key) is not None and values[key] >= 0
    }
    return replace(event, **moved) if any(values[key] != number for key, number in moved.items()) else event


_IDS = ("event_id", "retry_of", "task_id", "timer_id")
