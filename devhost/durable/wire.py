"""The texts with which the app's functions are called (host contract 3.2, 3.15, 1.5)."""

from __future__ import annotations

from collections.abc import Sequence

from devhost.durable.compact import compact, envelope, parse_or_text
from devhost.durable.ending import Episode
from devhost.durable.events import Event, OrchestratorCompleted, OrchestratorStarted
from devhost.durable.eventwire import show_event
from devhost.durable.records import Entity, EntityId, Operation


def orchestrator_payload(episode: Episode) -> str:
    """Return an orchestration trigger's text.

    The two timer durations are null, so that the SDK never cuts a long timer into pieces: those cannot be cancelled
    inside `task_any`, and one machine's store needs none (host contract 3.5, 3.11).
    """
    instance = episode.orchestration
    history = _past(episode.past)
    history += [show_event(event) for event in episode.new]
    payload = {
        "history": history,
        "input": parse_or_text(instance.input),
        "instanceId": instance.instance_id,
        "isReplaying": episode.is_replaying,
        "parentInstanceId": instance.parent.instance_id if instance.parent else None,
        "upperSchemaVersion": 1,
        "upperSchemaVersionNew": 3,
        "longRunningTimerIntervalDuration": None,
        "maximumShortTimerDuration": None,
        "defaultHttpAsyncRequestSleepTimeMillseconds": 30000,
    }
    return compact(payload)


def _past(past: Sequence[Event]) -> list[dict[str, object]]:
    history = [show_event(event, is_past=True) for event in past]
    for wire, event, following in zip(history, past, past[1:], strict=False):
        # Continue-as-new left one that no episode ended with; the real host marks it as played (host contract 3.7).
        if isinstance(event, OrchestratorCompleted) and not isinstance(following, OrchestratorStarted):
            wire["IsPlayed"] = True
    return history


def entity_payload(entity_id: EntityId, entity: Entity | None, operations: Sequence[Operation]) -> str:
    """Return an entity trigger's text for a batch; an entity without a record is new."""
    payload = {
        "self": {"name": entity_id.name, "key": entity_id.key},
        "exists": entity is not None and entity.exists,
        "state": entity.state if entity is not None else None,
        "batch": [
            {"name": operation.name, "input": operation.input, "isSignal": operation.is_signal, "id": operation.id}
            for operation in operations
        ],
    }
    return envelope(payload)
