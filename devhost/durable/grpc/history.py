"""The events of a history as messages."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from durabletask.internal import orchestrator_service_pb2 as pb

from devhost.durable import events


def event_message(event: events.Event) -> pb.HistoryEvent:
    """Return an event as the app's orchestrators read it.

    What goes to an entity and comes from it is an event that was sent and one that was raised, as the extension has it.
    """
    member, values = _MEMBERS[type(event)]
    message = pb.HistoryEvent(eventId=event.event_id, timestamp=event.timestamp.astimezone(UTC))
    getattr(message, member).SetInParent()
    for name, value in values(event).items():
        if value is not None:
            getattr(message, member).MergeFrom(type(getattr(message, member))(**{name: value}))
    return message


def event_of(message: pb.HistoryEvent) -> events.EventRaised:
    """Return the raised event that an orchestration hands to the execution that follows it."""
    given = message.eventRaised
    return events.EventRaised(timestamp=moment(message.timestamp), name=given.name, input=text_of(given, "input"))


def text_of(message: Any, member: str) -> str | None:
    """Return an optional text of a message."""
    return getattr(message, member).value if message.HasField(member) else None


def wrapped(text: str | None) -> Any:
    """Return a text as an optional member of a message."""
    return None if text is None else {"value": text}


def moment(timestamp: Any) -> datetime:
    """Return the moment of a message."""
    found: datetime = timestamp.ToDatetime(UTC)
    return found


def moment_of(message: Any, member: str) -> datetime | None:
    """Return an optional moment of a message."""
    return moment(getattr(message, member)) if message.HasField(member) else None


def _started(event: events.ExecutionStarted) -> Mapping[str, Any]:
    parent = event.parent and {
        "name": wrapped(event.parent.name),
        "taskScheduledId": event.parent.task_id,
        "orchestrationInstance": _instance(event.parent.instance_id, event.parent.execution_id),
    }
    return {
        "name": event.name,
        "version": wrapped(event.version),
        "input": wrapped(event.input),
        "orchestrationInstance": _instance(event.instance_id, event.execution_id),
        "parentInstance": parent,
        "scheduledStartTimestamp": event.scheduled_start,
    }


def _instance(instance_id: str, execution_id: str) -> Mapping[str, Any]:
    return {"instanceId": instance_id, "executionId": wrapped(execution_id)}


def _completed(event: events.Completed) -> Mapping[str, Any]:
    return {"taskScheduledId": event.task_id, "result": wrapped(event.result)}


def _failed(event: events.Failed) -> Mapping[str, Any]:
    details = {"errorType": "TaskFailed", "errorMessage": event.reason, "stackTrace": wrapped(event.details)}
    return {"taskScheduledId": event.task_id, "failureDetails": details}


_MEMBERS: Mapping[type[events.Event], tuple[str, Callable[[Any], Mapping[str, Any]]]] = {
    events.OrchestratorStarted: ("orchestratorStarted", lambda _: {}),
    events.OrchestratorCompleted: ("orchestratorCompleted", lambda _: {}),
    events.ExecutionStarted: ("executionStarted", _started),
    events.ExecutionCompleted: (
        "executionCompleted",
        lambda event: {"orchestrationStatus": event.status, "result": wrapped(event.result)},
    ),
    events.ExecutionTerminated: ("executionTerminated", lambda event: {"input": wrapped(event.input)}),
    events.ExecutionSuspended: ("executionSuspended", lambda event: {"input": wrapped(event.reason)}),
    events.ExecutionResumed: ("executionResumed", lambda event: {"input": wrapped(event.reason)}),
    events.TaskScheduled: ("taskScheduled", lambda event: {"name": event.name}),
    events.TaskCompleted: ("taskCompleted", _completed),
    events.TaskFailed: ("taskFailed", _failed),
    events.ChildCreated: (
        "subOrchestrationInstanceCreated",
        lambda event: {"name": event.name, "instanceId": event.instance_id},
    ),
    events.ChildCompleted: ("subOrchestrationInstanceCompleted", _completed),
    events.ChildFailed: ("subOrchestrationInstanceFailed", _failed),
    events.TimerCreated: ("timerCreated", lambda event: {"fireAt": event.fire_at}),
    events.TimerFired: ("timerFired", lambda event: {"timerId": event.timer_id, "fireAt": event.fire_at}),
    events.EventSent: (
        "eventSent",
        lambda event: {"instanceId": event.instance_id, "name": event.name, "input": wrapped(event.input)},
    ),
    events.EventRaised: ("eventRaised", lambda event: {"name": event.name, "input": wrapped(event.input)}),
    events.GenericEvent: ("genericEvent", lambda event: {"data": wrapped(event.text)}),
}
