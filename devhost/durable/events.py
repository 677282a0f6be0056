"""The events of a history: as values, and as JSON, key for key in the recorded order.

An event is a fact that never changes. Whether it was played already is no part of it: that depends on the episode that
reads it.

One table says how each is written: its number, whether the real host marks it as played once it was received, and its
keys in order. Keys that one machine never fills are written as the constant that the real host writes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from devhost.durable.texts import format_utc, parse_utc


@dataclass(frozen=True, kw_only=True)
class Event:
    """One line of a history; `event_id` is -1 for events that schedule nothing."""

    timestamp: datetime
    event_id: int = -1


@dataclass(frozen=True)
class Parent:
    """The orchestration that waits for a sub-orchestration, and the id under which it scheduled it."""

    name: str
    instance_id: str
    execution_id: str
    task_id: int


@dataclass(frozen=True, kw_only=True)
class ExecutionStarted(Event):
    """An execution begins. `input` is JSON text or None; `generation` parts a client's start (0, or 1 when the id was
    used before) from a child's or a continued one (None). `source` is the id of the instance that it restarts,
    `scheduled_start` when it is due."""

    instance_id: str
    execution_id: str
    name: str
    input: str | None
    parent: Parent | None = None
    generation: int | None = None
    version: str | None = None
    source: str | None = None
    scheduled_start: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class OrchestratorStarted(Event):
    """An episode begins; its time is the orchestrator's `current_utc_datetime`."""


@dataclass(frozen=True, kw_only=True)
class OrchestratorCompleted(Event):
    """An episode ended."""


@dataclass(frozen=True, kw_only=True)
class ExecutionCompleted(Event):
    """The execution ended; `status` is the protocol's number, `result` JSON text or the reason of a failure."""

    status: int
    result: str | None


@dataclass(frozen=True, kw_only=True)
class GenericEvent(Event):
    """Nothing happened: what a rewind put in the place of an event, or its reason, `text`."""

    text: str | None


@dataclass(frozen=True, kw_only=True)
class ExecutionTerminated(Event):
    """A client ended the execution; `input` is its reason."""

    input: str | None


@dataclass(frozen=True, kw_only=True)
class ExecutionSuspended(Event):
    """From here on, nothing that the orchestrator decides is carried out."""

    reason: str | None


@dataclass(frozen=True, kw_only=True)
class ExecutionResumed(Event):
    """What was decided meanwhile is carried out, and all goes on."""

    reason: str | None


@dataclass(frozen=True, kw_only=True)
class Retriable(Event):
    """An attempt of a call with a retry policy, or the timer behind one, when it names the id of the first attempt."""

    retry_of: int | None = None


@dataclass(frozen=True, kw_only=True)
class TaskScheduled(Retriable):
    """An activity was asked for."""

    name: str


@dataclass(frozen=True, kw_only=True)
class Completed(Event):
    """A request ended well; `result` is JSON text."""

    task_id: int
    result: str | None


@dataclass(frozen=True, kw_only=True)
class Failed(Event):
    """A request failed."""

    task_id: int
    reason: str
    details: str | None


@dataclass(frozen=True, kw_only=True)
class TaskCompleted(Completed):
    """An activity answered."""


@dataclass(frozen=True, kw_only=True)
class TaskFailed(Failed):
    """An activity failed."""


@dataclass(frozen=True, kw_only=True)
class ChildCreated(Retriable):
    """A sub-orchestration was asked for."""

    name: str
    instance_id: str


@dataclass(frozen=True, kw_only=True)
class ChildCompleted(Completed):
    """A sub-orchestration returned."""


@dataclass(frozen=True, kw_only=True)
class ChildFailed(Failed):
    """A sub-orchestration failed or was terminated."""


@dataclass(frozen=True, kw_only=True)
class TimerCreated(Retriable):
    """A timer was set."""

    fire_at: datetime


@dataclass(frozen=True, kw_only=True)
class TimerFired(Event):
    """A timer ran out; `timestamp` is when it was set, as on the real host."""

    timer_id: int
    fire_at: datetime


@dataclass(frozen=True, kw_only=True)
class EventSent(Event):
    """A message to an entity; `input` is the text of a RequestMessage."""

    instance_id: str
    name: str
    input: str


@dataclass(frozen=True, kw_only=True)
class EventRaised(Event):
    """An external event, or an entity's reply under its request's id; `input` is JSON text."""

    name: str
    input: str | None


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


def _write_parent(parent: Parent | None) -> object:
    if parent is None:
        return None
    return {
        "Name": parent.name,
        "OrchestrationInstance": {"InstanceId": parent.instance_id, "ExecutionId": parent.execution_id},
        "TaskScheduleId": parent.task_id,
        "Version": None,
    }


def _read_parent(value: Mapping[str, Any] | None) -> Parent | None:
    if value is None:
        return None
    instance = value["OrchestrationInstance"]
    return Parent(value["Name"], instance["InstanceId"], instance["ExecutionId"], value["TaskScheduleId"])


def _write_source(instance_id: str | None) -> object:
    return None if instance_id is None else {_SOURCE: instance_id}


def _read_source(value: Mapping[str, str] | None) -> str | None:
    return None if value is None else value[_SOURCE]


def _write_moment(moment: datetime | None) -> object:
    return None if moment is None else format_utc(moment)


def _read_moment(value: str | None) -> datetime | None:
    return None if value is None else parse_utc(value)


def _time(name: str, attribute: str) -> Key:
    return Key(name, attribute, write=format_utc, read=parse_utc)


_SOURCE = "MS_DurableFunctions_SourceInstanceId"
_TASK_ID = Key("TaskScheduledId", "task_id")
_RESULT = Key("Result", "result")
_FAILURE = (_TASK_ID, Key("Reason", "reason"), Key("Details", "details"), Key("FailureDetails"))
_REASON = (Key("Reason", "reason"),)
_STARTED = (
    Key("ParentInstance", "parent", write=_write_parent, read=_read_parent),
    Key("Name", "name"),
    Key("Version", "version"),
    Key("Input", "input"),
    Key("Tags", "source", write=_write_source, read=_read_source),
    Key("Correlation"),
    Key("ParentTraceContext"),
    Key("ScheduledStartTime", "scheduled_start", write=_write_moment, read=_read_moment),
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

SHAPES: Mapping[type[Event], Shape] = {
    ExecutionStarted: Shape(0, _STARTED, is_received=True),
    ExecutionCompleted: Shape(
        1,
        (Key("OrchestrationStatus", "status"), _RESULT, Key("FailureDetails")),
    ),
    ExecutionTerminated: Shape(3, (Key("Input", "input"),), is_received=True),
    TaskScheduled: Shape(4, _TASK_SCHEDULED),
    TaskCompleted: Shape(5, (_TASK_ID, _RESULT), is_received=True),
    TaskFailed: Shape(6, _FAILURE, is_received=True),
    ChildCreated: Shape(7, _CHILD_CREATED),
    ChildCompleted: Shape(8, (_TASK_ID, _RESULT), is_received=True),
    ChildFailed: Shape(9, _FAILURE, is_received=True),
    TimerCreated: Shape(10, (_time("FireAt", "fire_at"),)),
    TimerFired: Shape(11, (Key("TimerId", "timer_id"), _time("FireAt", "fire_at")), is_received=True),
    OrchestratorStarted: Shape(12),
    OrchestratorCompleted: Shape(13),
    EventSent: Shape(14, (Key("InstanceId", "instance_id"), Key("Name", "name"), Key("Input", "input"))),
    EventRaised: Shape(15, (Key("Name", "name"), Key("Input", "input"), Key("ParentTraceContext")), is_received=True),
    GenericEvent: Shape(17, head=Key("Data", "text")),
    ExecutionSuspended: Shape(19, _REASON, is_received=True),
    ExecutionResumed: Shape(20, _REASON, is_received=True),
}
_RETRY_OF = "RetryOf"
_BY_NUMBER = {shape.number: (kind, shape) for kind, shape in SHAPES.items()}


def write_event(event: Event) -> dict[str, object]:
    """Return the event for `read_event`: as the app is shown it, and with what only the engine needs to know."""
    wire = show_event(event)
    if isinstance(event, Retriable) and event.retry_of is not None:
        wire[_RETRY_OF] = event.retry_of
    return wire


def show_event(event: Event, is_past: bool = False) -> dict[str, object]:
    """Return the event as the trigger's `history` has it; only received events of the past are marked as played."""
    shape = SHAPES[type(event)]
    wire: dict[str, object] = {}
    if isinstance(event, ExecutionStarted):
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


def read_event(wire: Mapping[str, Any]) -> Event:
    """Return the event that `write_event` wrote; raises KeyError for a number that the engine never writes."""
    kind, shape = _BY_NUMBER[wire["EventType"]]
    keys = (*shape.keys, shape.head) if shape.head else shape.keys
    values: dict[str, Any] = {key.attribute: key.read(wire[key.name]) for key in keys if key.attribute}
    if kind is ExecutionStarted:
        instance = wire["OrchestrationInstance"]
        values |= {"instance_id": instance["InstanceId"], "execution_id": instance["ExecutionId"]}
    if _RETRY_OF in wire:
        values["retry_of"] = wire[_RETRY_OF]
    timestamp: datetime = parse_utc(wire["Timestamp"])
    return kind(event_id=wire["EventId"], timestamp=timestamp, **values)
