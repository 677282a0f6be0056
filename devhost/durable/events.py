"""The events of an orchestration's history, as values (host contract 3.4); `eventwire` knows their JSON.

An event is a fact that never changes. Whether it was played already is no part of it: that depends on the episode that
reads it.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


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
    """An execution begins. `input` is JSON text or None; `generation` tells a client's start (0, or 1 when the id was
    used before) from a child's or a continued one (None)."""

    instance_id: str
    execution_id: str
    name: str
    input: str | None
    parent: Parent | None = None
    generation: int | None = None
    version: str | None = None


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
class TaskCompleted(Event):
    """An activity answered; `result` is JSON text."""

    task_id: int
    result: str | None


@dataclass(frozen=True, kw_only=True)
class TaskFailed(Event):
    """An activity failed."""

    task_id: int
    reason: str
    details: str | None


@dataclass(frozen=True, kw_only=True)
class ChildCreated(Retriable):
    """A sub-orchestration was asked for."""

    name: str
    instance_id: str


@dataclass(frozen=True, kw_only=True)
class ChildCompleted(Event):
    """A sub-orchestration returned; `result` is JSON text."""

    task_id: int
    result: str | None


@dataclass(frozen=True, kw_only=True)
class ChildFailed(Event):
    """A sub-orchestration failed or was terminated."""

    task_id: int
    reason: str
    details: str | None


@dataclass(frozen=True, kw_only=True)
class TimerCreated(Retriable):
    """A timer was set."""

    fire_at: datetime


@dataclass(frozen=True, kw_only=True)
class TimerFired(Event):
    """A timer ran out; `timestamp` is when it was set, as on the real host (host contract 3.11)."""

    timer_id: int
    fire_at: datetime


@dataclass(frozen=True, kw_only=True)
class EventSent(Event):
    """A message to an entity; `input` is the text of a RequestMessage (host contract 3.9)."""

    instance_id: str
    name: str
    input: str


@dataclass(frozen=True, kw_only=True)
class EventRaised(Event):
    """An external event, or an entity's reply under its request's id; `input` is JSON text."""

    name: str
    input: str | None
