"""One episode of one orchestration: history, inbox and the app's answer in; events, messages and status out.

Theory of operation. An instance is its history, a list of events that only grows until the instance begins anew. An
episode takes every message that waits for the instance, appends the events they carry, shows the whole history to the
app's function, and lets `replay` say what of its answer is new. The new requests become scheduling events, which end
the episode's part of the history, and outgoing messages. The history of one episode reads

    OrchestratorStarted, [ExecutionStarted], events, scheduling events, [ExecutionCompleted], OrchestratorCompleted

What always holds:

- An event is received once: the step that appends it also consumes its message.
- A request is carried out once: its scheduling event confirms it in every later replay.
- An execution ends only when its code has ended and no activity, timer or sub-orchestration is open (3.7).
- A suspended instance receives events, and carries out nothing until it is resumed: it neither asks for anything nor
  ends, by a failure neither.
- A terminated instance ends, whatever its code would say.
- Results that belong to an execution which is over are dropped; external events are for whoever bears the id.

This module knows no clock, store, SDK or source of ids: times and new ids are given to it.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from devhost.durable import events
from devhost.durable.answers import OrchestratorAnswer
from devhost.durable.records import (
    ActivityTask,
    EventMessage,
    History,
    LockRequest,
    Operation,
    Orchestration,
    Outgoing,
    Release,
    Status,
    activity_target,
    entity_target,
    orchestration_target,
)
from devhost.durable.replay import (
    Command,
    Continued,
    CreateChild,
    Decided,
    LockEntities,
    NonDeterministicError,
    Raised,
    ReleaseEntity,
    Replay,
    Returned,
    ScheduleTask,
    SendEvent,
    SendOperation,
    SetTimer,
)
from devhost.durable.texts import compact
from devhost.durable.wire import lock_text, release_text, request_text
from devhost.ports import FunctionNames

_CUSTOM_STATUS_BYTES = 16 * 1024
_EXECUTION_IDS = uuid.UUID("b7a3f1f2-2f0e-5d5b-9a53-8f9f0f3ad9c4")


@dataclass(frozen=True)
class Episode:
    """What an episode begins with: the instance, its past, and the new part that the app is to see."""

    orchestration: Orchestration
    past: tuple[events.Event, ...]
    new: tuple[events.Event, ...]
    started_at: datetime

    @property
    def is_suspended(self) -> bool:
        return self.orchestration.status is Status.SUSPENDED

    @property
    def termination(self) -> events.ExecutionTerminated | None:
        """The event that ends the instance, whatever else the episode holds."""
        return next((event for event in self.new if isinstance(event, events.ExecutionTerminated)), None)

    @property
    def source(self) -> str | None:
        """The id of the instance that this one restarts."""
        starts = (event for event in (*self.past, *self.new) if isinstance(event, events.ExecutionStarted))
        return next((start.source for start in starts), None)


@dataclass(frozen=True)
class Broken:
    """The app's function failed without an answer; `message` is all there is to say."""

    message: str


@dataclass(frozen=True)
class EpisodeOutcome:
    """What an episode ends with. After `is_over`, messages that wait for the instance have nobody to go to."""

    orchestration: Orchestration
    history: History
    outgoing: tuple[Outgoing, ...] = ()
    is_over: bool = False


def open_episode(
    orchestration: Orchestration, past: tuple[events.Event, ...], inbox: Sequence[events.Event], now: datetime
) -> Episode:
    """Return the episode that these events begin."""
    new = (events.OrchestratorStarted(timestamp=now), *inbox)
    if orchestration.is_continued:
        # The episode that continued as new had ended its part of the history already.
        new = (*new, events.OrchestratorCompleted(timestamp=now))
    return Episode(_fold_status(orchestration, inbox), past, new, now)


def close_episode(
    episode: Episode,
    answer: OrchestratorAnswer | Decided | Broken,
    names: FunctionNames,
    now: datetime,
    next_execution_id: str,
) -> EpisodeOutcome:
    """Return what the episode changes; `next_execution_id` is taken if the orchestrator continues as new."""
    ending = Ending(episode, now)
    if not isinstance(answer, Broken) and answer.custom_status is not None:
        custom_status = answer.custom_status
        if len(custom_status.encode("utf-16-le")) > _CUSTOM_STATUS_BYTES:
            answer = Broken("The size of the JSON-serialized payload must not exceed 16 KB of UTF-16 text.")
        else:
            ending.take_custom_status(custom_status)
    if episode.is_suspended:
        # The answer to the whole history, failures included, comes again when the instance is resumed.
        return ending.wait()
    if isinstance(answer, Broken):
        return ending.fail(answer.message)
    decided = answer if isinstance(answer, Decided) else _replay(episode, answer, names)
    if isinstance(decided, str):
        return ending.fail_with(f"Non-Deterministic workflow detected: {decided}")
    ending.carry_out(decided)
    match decided.result:
        case None:
            return ending.wait()
        case Returned(output):
            return ending.finish(Status.COMPLETED, output, output)
        case Raised(error):
            return ending.fail(error)
        case Continued(given):
            return ending.continue_as_new(given, next_execution_id, decided.carried)


def terminate_episode(episode: Episode, termination: events.ExecutionTerminated, now: datetime) -> EpisodeOutcome:
    """Return the end of a terminated instance, open work and all."""
    return Ending(episode, now).finish(Status.TERMINATED, compact(termination.input), termination.input)


def _fold_status(orchestration: Orchestration, inbox: Sequence[events.Event]) -> Orchestration:
    """Return the instance as running, or as the last suspension or resumption leaves it."""
    if orchestration.status is Status.PENDING:
        orchestration = replace(orchestration, status=Status.RUNNING)
    for event in inbox:
        match event:
            case events.ExecutionSuspended() | events.ExecutionResumed():
                status = Status.SUSPENDED if isinstance(event, events.ExecutionSuspended) else Status.RUNNING
                # A resumption without a reason leaves the one of the suspension, as on the real host.
                output = orchestration.output if event.reason is None else compact(event.reason)
                orchestration = replace(orchestration, status=status, output=output)
    return orchestration


def _replay(episode: Episode, answer: OrchestratorAnswer, names: FunctionNames) -> Decided | str:
    instance = episode.orchestration
    parent_id = instance.parent.instance_id if instance.parent else None
    replay = Replay(instance.instance_id, instance.execution_id, parent_id, answer, names)
    try:
        for event in (*episode.past, *episode.new):
            replay.feed(event)
    except NonDeterministicError as error:
        return str(error)
    return replay.decided


class Ending:
    """Gathers what an episode appends and sends, until one of its ways to end returns the outcome.

    `close_episode` decides which one it is; nothing is decided here.
    """

    def __init__(self, episode: Episode, now: datetime) -> None:
        self._episode = episode
        self._now = now
        self._instance = replace(episode.orchestration, updated_at=now, is_continued=False)
        self._events = list(episode.new)
        self._outgoing: list[Outgoing] = []
        self._next_id = -1

    def take_custom_status(self, text: str) -> None:
        self._instance = replace(self._instance, custom_status=text)

    def carry_out(self, decided: Decided) -> None:
        """Append the scheduling events of the new requests, in the order of their ids, and send what they ask."""
        self._next_id = decided.next_id
        for command in decided.commands:
            _CARRY_OUT[type(command)](self, command)

    def wait(self) -> EpisodeOutcome:
        return EpisodeOutcome(self._instance, self._closed_history(), tuple(self._outgoing))

    def fail(self, error: str) -> EpisodeOutcome:
        """End the instance with what its code raised."""
        return self.fail_with(f"Orchestrator function '{self._instance.name}' failed: {error}", error)

    def fail_with(self, reason: str, error: str | None = None) -> EpisodeOutcome:
        return self.finish(Status.FAILED, compact(reason), reason, details=f"Message: {error or reason}")

    def finish(
        self, status: Status, output: str | None, result: str | None, details: str | None = None
    ) -> EpisodeOutcome:
        """End the instance and answer its parent; `result` is what history keeps, `output` its JSON text."""
        self._instance = replace(self._instance, status=status, output=output)
        self._append(events.ExecutionCompleted, event_id=self._next_id, status=status.number, result=result)
        self._answer_parent(status, result, details)
        return EpisodeOutcome(self._instance, self._closed_history(), tuple(self._outgoing), is_over=True)

    def continue_as_new(
        self, given: str | None, execution_id: str, carried: Sequence[events.EventRaised]
    ) -> EpisodeOutcome:
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
            version=old.version,
            source=self._episode.source,
        )
        # Not as messages of their own: those would come behind events that arrived while this episode ran.
        message = EventMessage(start, execution_id, tuple(carried))
        self._outgoing.append(Outgoing(orchestration_target(old.instance_id), message))
        return EpisodeOutcome(self._instance, History(is_new=True), tuple(self._outgoing))

    def _closed_history(self) -> History:
        self._append(events.OrchestratorCompleted)
        return History(tuple(self._events))

    def _append(self, kind: Callable[..., events.Event], **values: Any) -> None:
        self._events.append(kind(timestamp=self._now, **values))

    def _answer_parent(self, status: Status, result: str | None, details: str | None) -> None:
        parent = self._instance.parent
        if parent is None:
            return
        event: events.Event
        number = parent.task_id
        if status is Status.COMPLETED:
            event = events.ChildCompleted(timestamp=self._now, task_id=number, result=result)
        else:
            event = events.ChildFailed(timestamp=self._now, task_id=number, reason=result or "", details=details)
        message = EventMessage(event, parent.execution_id)
        self._outgoing.append(Outgoing(orchestration_target(parent.instance_id), message))

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
        # same execution id, the start would be one that it had already. And the time: an episode that is made again
        # begins another execution, as on the real host.
        place, time = len(self._episode.past) + len(self._events), self._episode.started_at.isoformat()
        child = {"name": command.name, "instance_id": command.instance_id, "retry_of": command.retry_of}
        self._append(events.ChildCreated, event_id=command.id, **child)
        start = events.ExecutionStarted(
            timestamp=self._now,
            instance_id=command.instance_id,
            execution_id=uuid.uuid5(_EXECUTION_IDS, f"{instance.execution_id}:{place}:{time}").hex,
            name=command.name,
            input=command.input,
            parent=events.Parent(instance.name, instance.instance_id, instance.execution_id, command.id),
            version=command.version or instance.version,
        )
        self._outgoing.append(Outgoing(orchestration_target(command.instance_id), EventMessage(start)))

    def _send_operation(self, command: SendOperation) -> None:
        caller = (self._instance.instance_id, self._instance.execution_id)
        text = request_text(command, caller, self._episode.started_at, (*self._episode.past, *self._events))
        self._append(events.EventSent, event_id=command.id, instance_id=str(command.entity_id), name="op", input=text)
        waiting = (None, None) if command.is_signal else caller
        operation = Operation(command.request_id, command.operation, command.input, *waiting)
        self._outgoing.append(Outgoing(entity_target(command.entity_id), operation, due=command.due))

    def _lock_entities(self, command: LockEntities) -> None:
        caller = (self._instance.instance_id, self._instance.execution_id)
        first = command.entity_ids[0]
        text = lock_text(command, caller, self._episode.started_at, (*self._episode.past, *self._events))
        self._append(events.EventSent, event_id=command.id, instance_id=str(first), name="op", input=text)
        request = LockRequest(command.section_id, tuple(map(str, command.entity_ids)), 0, *caller)
        self._outgoing.append(Outgoing(entity_target(first), request))

    def _release_entity(self, command: ReleaseEntity) -> None:
        entity_id = command.entity_id
        text = release_text(command.section_id, self._instance.instance_id)
        self._append(events.EventSent, event_id=command.id, instance_id=str(entity_id), name="release", input=text)
        self._outgoing.append(Outgoing(entity_target(entity_id), Release(command.section_id)))

    def _send_event(self, command: SendEvent) -> None:
        to, name, given = command.instance_id, command.name, command.input
        self._append(events.EventSent, event_id=command.id, instance_id=to, name=name, input=given)
        raised = EventMessage(events.EventRaised(timestamp=self._now, name=name, input=given))
        self._outgoing.append(Outgoing(orchestration_target(to), raised))


_CARRY_OUT: Mapping[type[Command], Callable[[Ending, Any], None]] = {
    ScheduleTask: Ending._schedule_task,
    SetTimer: Ending._set_timer,
    CreateChild: Ending._create_child,
    SendOperation: Ending._send_operation,
    LockEntities: Ending._lock_entities,
    ReleaseEntity: Ending._release_entity,
    SendEvent: Ending._send_event,
}
