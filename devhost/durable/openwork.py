"""What an instance waits for, as far as its history tells: requests without an end (host contract 3.4).

External events are not among it: a wait for one leaves no line in the history.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from devhost.durable import events
from devhost.durable.timestamps import format_utc


def open_work(history: Sequence[events.Event]) -> list[str]:
    """Return a phrase for each request that has not ended, in the order of asking."""
    waiting: dict[object, str] = {}
    for event in history:
        change = _CHANGES.get(type(event))
        if change is not None:
            change(waiting, event)
    return list(waiting.values())


def _task(waiting: dict[object, str], event: events.TaskScheduled) -> None:
    waiting[event.event_id] = f"activity {event.name} (id {event.event_id})"


def _child(waiting: dict[object, str], event: events.ChildCreated) -> None:
    waiting[event.event_id] = f"sub-orchestration {event.name} {event.instance_id} (id {event.event_id})"


def _timer(waiting: dict[object, str], event: events.TimerCreated) -> None:
    waiting[event.event_id] = f"timer until {format_utc(event.fire_at)} (id {event.event_id})"


def _message(waiting: dict[object, str], event: events.EventSent) -> None:
    request = json.loads(event.input)
    if not request.get("signal"):
        waiting[request["id"]] = f"operation {request['op']} of {event.instance_id} (id {event.event_id})"


def _end(waiting: dict[object, str], event: events.TaskCompleted) -> None:
    waiting.pop(event.task_id, None)


def _fire(waiting: dict[object, str], event: events.TimerFired) -> None:
    waiting.pop(event.timer_id, None)


def _reply(waiting: dict[object, str], event: events.EventRaised) -> None:
    waiting.pop(event.name, None)


_CHANGES: Mapping[type[events.Event], Callable[[dict[object, str], Any], None]] = {
    events.TaskScheduled: _task,
    events.ChildCreated: _child,
    events.TimerCreated: _timer,
    events.EventSent: _message,
    events.TaskCompleted: _end,
    events.TaskFailed: _end,
    events.ChildCompleted: _end,
    events.ChildFailed: _end,
    events.TimerFired: _fire,
    events.EventRaised: _reply,
}
