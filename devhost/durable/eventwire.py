"""History events to and from their JSON, key for key in the recorded order (host contract 3.4).

One table says it all: per event its number, whether the real host marks it as played once it was received, and its keys
in order. Keys that one machine never fills are written as the constant that the real host writes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from devhost.durable import events
from devhost.durable.timestamps import format_utc, parse_utc


@dataclass(frozen=True)
class Key:
    """One key: either a constant, or an attribute with the two directions of its conversion."""

    name: str
    attribute: str = ""
    constant: object = None
    write: Callable[[Any], object] = lambda value: value
    read: Callable[[Any], object] = lambda value: value


@dataclass(frozen=True)
class Shape:
    """How one kind of event is written, and whether it came from outside (then the past's are marked as played).

    `head` is a key that comes before the event's number.
    """

    number: int
    keys: tuple[Key, ...] = ()
    is_received: bool = False
    head: Key | None = None


def _write_parent(parent: events.Parent | None) -> object:
    if parent is None:
        return None
    return {
        "Name": parent.name,
        "OrchestrationInstance": {"InstanceId": parent.instance_id, "ExecutionId": parent.execution_id},
        "TaskScheduleId": parent.task_id,
        "Version": None,
    }


def _read_parent(value: Mapping[str, Any] | None) -> events.Parent | None:
    if value is None:
        return None
    instance = value["OrchestrationInstance"]
    return events.Parent(value["Name"], instance["InstanceId"], instance["ExecutionId"], value["TaskScheduleId"])


def _time(name: str, attribute: str) -> Key:
    return Key(name, attribute, write=format_utc, read=parse_utc)


_TASK_ID = Key("TaskScheduledId", "task_id")
_RESULT = Key("Result", "result")
_FAILURE = (_TASK_ID, Key("Reason", "reason"), Key("Details", "details"), Key("FailureDetails"))
_REASON = (Key("Reason", "reason"),)
_STARTED = (
    Key("ParentInstance", "parent", write=_write_parent, read=_read_parent),
    Key("Name", "name"),
    Key("Version", "version"),
    Key("Input", "input"),
    Key("Tags"),
    Key("Correlation"),
    Key("ParentTraceContext"),
    Key("ScheduledStartTime"),
    Key("Generation", "generation"),
    Key("GenerateNewTrace", constant=False),
)
_TASK_SCHEDULED = (
    Key("Name", "name"),
    Key("Version", constant=""),
    Key("Input"),
    Key("ParentTraceContext"),
    Key("Tags"),
)
_CHILD_CREATED = (
    Key("Name", "name"),
    Key("Version"),
    Key("InstanceId", "instance_id"),
    Key("Input"),
    Key("ClientSpanId"),
    Key("Tags"),
)

SHAPES: Mapping[type[events.Event], Shape] = {
    events.ExecutionStarted: Shape(0, _STARTED, is_received=True),
    events.ExecutionCompleted: Shape(
        1,
        (Key("OrchestrationStatus", "status"), _RESULT, Key("FailureDetails")),
    ),
    events.ExecutionTerminated: Shape(3, (Key("Input", "input"),), is_received=True),
    events.TaskScheduled: Shape(4, _TASK_SCHEDULED),
    events.TaskCompleted: Shape(5, (_TASK_ID, _RESULT), is_received=True),
    events.TaskFailed: Shape(6, _FAILURE, is_received=True),
    events.ChildCreated: Shape(7, _CHILD_CREATED),
    events.ChildCompleted: Shape(8, (_TASK_ID, _RESULT), is_received=True),
    events.ChildFailed: Shape(9, _FAILURE, is_received=True),
    events.TimerCreated: Shape(10, (_time("FireAt", "fire_at"),)),
    events.TimerFired: Shape(11, (Key("TimerId", "timer_id"), _time("FireAt", "fire_at")), is_received=True),
    events.OrchestratorStarted: Shape(12),
    events.OrchestratorCompleted: Shape(13),
    events.EventSent: Shape(14, (Key("InstanceId", "instance_id"), Key("Name", "name"), Key("Input", "input"))),
    events.EventRaised: Shape(
        15, (Key("Name", "name"), Key("Input", "input"), Key("ParentTraceContext")), is_received=True
    ),
    events.GenericEvent: Shape(17, head=Key("Data", "text")),
    events.ExecutionSuspended: Shape(19, _REASON, is_received=True),
    events.ExecutionResumed: Shape(20, _REASON, is_received=True),
}
_RETRY_OF = "RetryOf"
_BY_NUMBER = {shape.number: (kind, shape) for kind, shape in SHAPES.items()}


def write_event(event: events.Event) -> dict[str, object]:
    """Return the event for `read_event`: as the app is shown it, and with what only the engine needs to know."""
    wire = show_event(event)
    if isinstance(event, events.Retriable) and event.retry_of is not None:
        wire[_RETRY_OF] = event.retry_of
    return wire


def show_event(event: events.Event, is_past: bool = False) -> dict[str, object]:
    """Return the event as the trigger's `history` has it; only received events of the past are marked as played."""
    shape = SHAPES[type(event)]
    wire: dict[str, object] = {}
    if isinstance(event, events.ExecutionStarted):
        wire["OrchestrationInstance"] = {"InstanceId": event.instance_id, "ExecutionId": event.execution_id}
    if shape.head is not None:
        wire[shape.head.name] = getattr(event, shape.head.attribute)
    wire["EventType"] = shape.number
    for key in shape.keys:
        wire[key.name] = key.write(getattr(event, key.attribute)) if key.attribute else key.constant
    wire["EventId"] = event.event_id
    wire["IsPlayed"] = is_past and shape.is_received
    wire["Timestamp"] = format_utc(event.timestamp)
    return wire


def read_event(wire: Mapping[str, Any]) -> events.Event:
    """Return the event that `write_event` wrote; raises KeyError for a number that the engine never writes."""
    kind, shape = _BY_NUMBER[wire["EventType"]]
    keys = (*shape.keys, shape.head) if shape.head else shape.keys
    values: dict[str, Any] = {key.attribute: key.read(wire[key.name]) for key in keys if key.attribute}
    if kind is events.ExecutionStarted:
        instance = wire["OrchestrationInstance"]
        values |= {"instance_id": instance["InstanceId"], "execution_id": instance["ExecutionId"]}
    if _RETRY_OF in wire:
        values["retry_of"] = wire[_RETRY_OF]
    timestamp: datetime = parse_utc(wire["Timestamp"])
    return kind(event_id=wire["EventId"], timestamp=timestamp, **values)
