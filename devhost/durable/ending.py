"""How an episode ends: its last events, its messages, and the instance's new record.

`turn` decides which ending it is; nothing is decided here.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from devhost.durable import events
from devhost.durable.answers import OrchestratorAnswer
from devhost.durable.compact import compact
from devhost.durable.entity_messages import operation_input, request_text
from devhost.durable.records import (
    ActivityTask,
    EventMessage,
    History,
    Operation,
    Orchestration,
    Outgoing,
    Status,
    activity_target,
    entity_target,
    orchestration_target,
)
from devhost.durable.replay import Command, CreateChild, Replay, ScheduleTask, SendOperation, SetTimer

_EXECUTION_IDS = uuid.UUID("b7a3f1f2-2f0e-5d5b-9a53-8f9f0f3ad9c4")


@dataclass(frozen=True)
class Episode:
    """What an episode begins with: the instance, its past, and the new part that the app is to see."""

    orchestration: Orchestration
    past: tuple[events.Event, ...]
    new: tuple[events.Event, ...]
    started_at: datetime

    @property
    def is_replaying(self) -> bool:
        return bool(self.past)

    @property
    def is_suspended(self) -> bool:
        return self.orchestration.status is Status.SUSPENDED

    @property
    def termination(self) -> events.ExecutionTerminated | None:
        """The event that ends the instance, whatever else the episode holds."""
        return next((event for event in self.new if isinstance(event, events.ExecutionTerminated)), None)

    @property
    def version(self) -> str | None:
        """The version that the instance was started with."""
        starts = (event for event in (*self.past, *self.new) if isinstance(event, events.ExecutionStarted))
        return next((start.version for start in starts), None)


@dataclass(frozen=True)
class Turn:
    """What an episode ends with. After `is_over`, messages that wait for the instance have nobody to go to."""

    orchestration: Orchestration
    history: History
    outgoing: tuple[Outgoing, ...] = ()
    is_over: bool = False


def failure_reason(name: str, error: str) -> str:
    """Return the text under which an orchestration fails (host contract 3.8)."""
    return f"Orchestrator function '{name}' failed: {error}"


class Ending:
    """Gathers what an episode appends and sends, until one of its last words makes a Turn of it."""

    def __init__(self, episode: Episode, now: datetime) -> None:
        self._episode = episode
        self._now = now
        self._instance = replace(episode.orchestration, updated_at=now, is_continued=False)
        self._events = list(episode.new)
        self._outgoing: list[Outgoing] = []
        self._next_id = -1

    def take_custom_status(self, answer: OrchestratorAnswer) -> None:
        if answer.custom_status is not None:
            self._instance = replace(self._instance, custom_status=answer.custom_status)

    def carry_out(self, replay: Replay) -> None:
        """Append the scheduling events of the new requests, in the order of their ids, and send what they ask."""
        self._next_id = replay.next_id
        for command in replay.new_commands:
            _CARRY_OUT[type(command)](self, command)

    def wait(self) -> Turn:
        return Turn(self._instance, self._closed_history(), tuple(self._outgoing))

    def fail(self, error: str) -> Turn:
        return self.fail_with(failure_reason(self._instance.name, error), error)

    def fail_with(self, reason: str, error: str | None = None) -> Turn:
        return self.finish(Status.FAILED, compact(reason), reason, details=f"Message: {error or reason}")

    def finish(self, status: Status, output: str | None, result: str | None, details: str | None = None) -> Turn:
        """End the instance and tell its parent; `result` is what history keeps, `output` its JSON text."""
        self._instance = replace(self._instance, status=status, output=output)
        self._append(events.ExecutionCompleted, event_id=self._next_id, status=status.number, result=result)
        self._tell_parent(status, result, details)
        return Turn(self._instance, self._closed_history(), tuple(self._outgoing), is_over=True)

    def continue_as_new(self, given: str, execution_id: str, carried: Sequence[events.EventRaised]) -> Turn:
        """Begin anew under the same id, with an empty history, a new execution and the carried events."""
        old = self._instance
        self._instance = replace(old, execution_id=execution_id, input=given, is_continued=True)
        start = events.ExecutionStarted(
            timestamp=self._now,
            instance_id=old.instance_id,
            execution_id=execution_id,
            name=old.name,
            input=given,
            parent=old.parent,
            version=self._episode.version,
        )
        # Not as messages of their own: those would come behind events that arrived while this episode ran.
        message = EventMessage(start, execution_id, tuple(carried))
        self._outgoing.append(Outgoing(orchestration_target(old.instance_id), message))
        return Turn(self._instance, History(is_new=True), tuple(self._outgoing))

    def _closed_history(self) -> History:
        self._append(events.OrchestratorCompleted)
        return History(tuple(self._events))

    def _append(self, kind: Callable[..., events.Event], **values: Any) -> None:
        self._events.append(kind(timestamp=self._now, **values))

    def _tell_parent(self, status: Status, result: str | None, details: str | None) -> None:
        parent = self._instance.parent
        if parent is None:
            return
        event: events.Event
        if status is Status.COMPLETED:
            event = events.ChildCompleted(timestamp=self._now, task_id=parent.task_id, result=result)
        else:
            event = events.ChildFailed(
                timestamp=self._now, task_id=parent.task_id, reason=result or "", details=details
            )
        target = orchestration_target(parent.instance_id)
        self._outgoing.append(Outgoing(target, EventMessage(event, parent.execution_id)))

    def _schedule_task(self, command: ScheduleTask) -> None:
        instance = self._instance
        self._append(events.TaskScheduled, event_id=command.id, name=command.name, retry_of=command.retry_of)
        task = ActivityTask(command.name, command.input, command.id, instance.instance_id, instance.execution_id)
        self._outgoing.append(Outgoing(activity_target(task), task))

    def _set_timer(self, command: SetTimer) -> None:
        instance = self._instance
        self._append(events.TimerCreated, event_id=command.id, fire_at=command.fire_at, retry_of=command.retry_of)
        fired = events.TimerFired(timestamp=self._now, timer_id=command.id, fire_at=command.fire_at)
        message = EventMessage(fired, instance.execution_id)
        self._outgoing.append(Outgoing(orchestration_target(instance.instance_id), message, due=command.fire_at))

    def _create_child(self, command: CreateChild) -> None:
        instance = self._instance
        # Its place in the history, and not the request's id, which a rewind asks for again: to an ended child of the
        # same execution id, the start would be one that it had already.
        place = len(self._episode.past) + len(self._events)
        self._append(
            events.ChildCreated,
            event_id=command.id,
            name=command.name,
            instance_id=command.instance_id,
            retry_of=command.retry_of,
        )
        start = events.ExecutionStarted(
            timestamp=self._now,
            instance_id=command.instance_id,
            execution_id=uuid.uuid5(_EXECUTION_IDS, f"{instance.execution_id}:{place}").hex,
            name=command.name,
            input=compact(command.input),
            parent=events.Parent(instance.name, instance.instance_id, instance.execution_id, command.id),
            version=command.version or self._episode.version,
        )
        self._outgoing.append(Outgoing(orchestration_target(command.instance_id), EventMessage(start)))

    def _send_operation(self, command: SendOperation) -> None:
        caller = (self._instance.instance_id, self._instance.execution_id)
        text = request_text(command, caller, self._episode.started_at, (*self._episode.past, *self._events))
        self._append(events.EventSent, event_id=command.id, instance_id=str(command.entity_id), name="op", input=text)
        waiting = (None, None) if command.is_signal else caller
        operation = Operation(command.request_id, command.operation, operation_input(command), *waiting)
        self._outgoing.append(Outgoing(entity_target(command.entity_id), operation, due=command.due))


_CARRY_OUT: Mapping[type[Command], Callable[[Ending, Any], None]] = {
    ScheduleTask: Ending._schedule_task,
    SetTimer: Ending._set_timer,
    CreateChild: Ending._create_child,
    SendOperation: Ending._send_operation,
}
