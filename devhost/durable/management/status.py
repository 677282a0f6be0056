"""An instance as the status endpoints show it, its history included."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from devhost.durable import events
from devhost.durable.events import show_event
from devhost.durable.records import Entity, Orchestration, Status
from devhost.durable.texts import format_seconds, format_utc, parse_or_text

_HIDDEN_KEYS = frozenset(
    {"EventType", "EventId", "IsPlayed", "Timestamp", "OrchestrationInstance", "TimerId", "Version"}
)
_HIDDEN_EVENTS = (events.OrchestratorStarted, events.OrchestratorCompleted)
_STARTED_HIDDEN = frozenset({"ParentInstance", "Name", "Tags"})
_STATUS_BY_NUMBER = {status.number: status.value for status in Status}
_EVENT_NAMES: Mapping[type[events.Event], str] = {
    events.ChildCompleted: "SubOrchestrationInstanceCompleted",
    events.ChildFailed: "SubOrchestrationInstanceFailed",
    events.ChildCreated: "SubOrchestrationInstanceCreated",
}
_Scheduling = events.TaskScheduled | events.ChildCreated


@dataclass(frozen=True)
class StatusView:
    """What a status request asks to see."""

    show_input: bool = True
    show_history: bool = False
    show_history_output: bool = False


def orchestration_status(
    instance: Orchestration, view: StatusView, history: Sequence[events.Event] = ()
) -> dict[str, object]:
    """Return the status body, keys in the recorded order."""
    version: dict[str, object] = {} if instance.version is None else {"version": instance.version}
    parent = {} if instance.parent is None else {"parentInstanceId": instance.parent.instance_id}
    body = {"name": instance.name, **version, "instanceId": instance.instance_id, **parent} | {
        "runtimeStatus": instance.status.value,
        "input": parse_or_text(instance.input) if view.show_input else None,
        "customStatus": parse_or_text(instance.custom_status),
        "output": parse_or_text(instance.output),
        "createdTime": format_seconds(instance.created_at),
        "lastUpdatedTime": format_seconds(instance.updated_at),
    }
    if view.show_history and history:
        body["historyEvents"] = project_history(history, view.show_history_output)
    return body


def entity_status(entity: Entity, view: StatusView) -> dict[str, object]:
    """Return the body of an entity among the instances: the real host runs entities as orchestrations (4.3.3)."""
    seen: dict[str, object] = ({"exists": True} if entity.exists else {}) | {"state": entity.state or "null"}
    return {
        "name": str(entity.id),
        "instanceId": str(entity.id),
        "runtimeStatus": Status.RUNNING.value,
        "input": seen | {"sorter": {}} if view.show_input else None,
        "customStatus": {"entityExists": True} if entity.exists else {},
        "output": None,
        "createdTime": format_seconds(entity.updated_at),
        "lastUpdatedTime": format_seconds(entity.updated_at),
    }


def project_history(history: Sequence[events.Event], show_output: bool) -> list[dict[str, object]]:
    """Return the history as clients see it: episodes hidden, each request merged into its end, results parsed."""
    scheduled = {event.event_id: event for event in history if isinstance(event, _Scheduling)}
    ended = {event.task_id for event in history if isinstance(event, events.Completed | events.Failed)}
    shown = [
        event
        for event in history
        if not isinstance(event, _HIDDEN_EVENTS) and not (isinstance(event, _Scheduling) and event.event_id in ended)
    ]
    return [_project(event, scheduled, show_output) for event in shown]


def _project(event: events.Event, scheduled: Mapping[int, _Scheduling], show_output: bool) -> dict[str, object]:
    wire = show_event(event)
    entry: dict[str, object] = {"EventType": _EVENT_NAMES.get(type(event), type(event).__name__)}
    entry |= {key: value for key, value in wire.items() if key not in _HIDDEN_KEYS}
    _show_result(entry, show_output)
    entry["Timestamp"] = wire["Timestamp"]
    match event:
        case events.ExecutionStarted():
            entry = {key: value for key, value in entry.items() if key not in _STARTED_HIDDEN}
            entry["FunctionName"] = event.name
        case events.Completed() | events.Failed():
            _merge_request(entry, scheduled.get(event.task_id))
    return entry


def _show_result(entry: dict[str, object], show_output: bool) -> None:
    if "OrchestrationStatus" in entry:
        entry["OrchestrationStatus"] = _STATUS_BY_NUMBER.get(int(str(entry["OrchestrationStatus"])))
    if "Result" in entry:
        result = entry["Result"]
        entry["Result"] = parse_or_text(result if isinstance(result, str) else None)
        if not show_output:
            del entry["Result"]


def _merge_request(entry: dict[str, object], request: _Scheduling | None) -> None:
    entry.pop("TaskScheduledId", None)
    if request is not None:
        entry["ScheduledTime"] = format_utc(request.timestamp, zone="+00:00")
        entry["FunctionName"] = request.name
        if isinstance(request, events.ChildCreated):
            entry["InstanceId"] = request.instance_id
        entry["Input"] = None
