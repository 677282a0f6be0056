"""The texts with which the app's functions are called, and those of entity messages.

Which protocol they are in is one choice for all that is durable in an app. This is that of the SDK 1.x.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from devhost.durable.answers import (
    EntityAnswer,
    OperationResult,
    OrchestratorAnswer,
    parse_entity_answer,
    parse_orchestrator_answer,
)
from devhost.durable.events import (
    Event,
    EventSent,
    ExecutionStarted,
    OrchestratorCompleted,
    OrchestratorStarted,
    show_event,
)
from devhost.durable.records import ActivityTask, Entity, EntityId, Operation, Orchestration
from devhost.durable.replay import Decided, LockEntities, SendOperation
from devhost.durable.texts import compact, envelope, format_utc, parse_or_text

_TYPE = "Microsoft.Azure.WebJobs.Extensions.DurableTask.{0}, Microsoft.Azure.WebJobs.Extensions.DurableTask"
_NOBODY_BEFORE = "0001-01-01T00:00:00"


def orchestrator_payload(instance: Orchestration, past: Sequence[Event], new: Sequence[Event]) -> str:
    """Return an orchestration trigger's text.

    The two timer durations are null, so that the SDK never cuts a long timer into pieces: those cannot be cancelled
    inside `task_any`, and one machine's store needs none.
    """
    starts = (event for event in (*past, *new) if isinstance(event, ExecutionStarted))
    history = _past(past)
    history += [show_event(event) for event in new]
    payload = {
        "history": history,
        "input": parse_or_text(instance.input),
        "instanceId": instance.instance_id,
        "isReplaying": bool(past),
        "parentInstanceId": instance.parent.instance_id if instance.parent else None,
        "sourceInstanceId": next((start.source for start in starts), None),
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
        # Continue-as-new left one that no episode ended with; the real host marks it as played.
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


def request_text(command: SendOperation, parent: tuple[str, str], sent_at: datetime, history: Sequence[Event]) -> str:
    """Return the RequestMessage; `parent` is the caller's instance and execution id.

    `Predecessor` is the time of the message before it to the same entity, as the history has it.
    """
    message: dict[str, object] = {"$type": _TYPE.format("RequestMessage"), "op": command.operation}
    if command.is_signal:
        message["signal"] = True
    message |= {"input": command.input, "id": command.request_id}
    message |= {"parent": parent[0], "parentExecution": parent[1]}
    if command.due is not None:
        message["due"] = format_utc(command.due)
    message |= _order(command.entity_id, sent_at, history)
    message["requestTime"] = format_utc(sent_at, zone="+00:00")
    return compact(message)


def lock_text(command: LockEntities, parent: tuple[str, str], sent_at: datetime, history: Sequence[Event]) -> str:
    """Return the RequestMessage by which an orchestration asks for locks; `parent` is as an operation's."""
    lock_set = [{"name": entity_id.name, "key": entity_id.key} for entity_id in command.entity_ids]
    message: dict[str, object] = {"$type": _TYPE.format("RequestMessage"), "lockset": lock_set, "pos": 0}
    message |= {"id": command.section_id, "parent": parent[0], "parentExecution": parent[1]}
    message |= _order(command.entity_ids[0], sent_at, history)
    return compact(message)


def release_text(section_id: str, parent_id: str) -> str:
    """Return the ReleaseMessage by which an orchestration lets go of a lock."""
    return compact({"$type": _TYPE.format("ReleaseMessage"), "parent": parent_id, "id": section_id})


def response_text(result: OperationResult) -> str:
    """Return the ResponseMessage; the SDK takes the mere presence of `exceptionType` for an error."""
    message: dict[str, object] = {"$type": _TYPE.format("ResponseMessage"), "result": result.result}
    if result.is_error:
        message["exceptionType"] = "Error"
    return compact(message)


def _order(entity_id: EntityId, sent_at: datetime, history: Sequence[Event]) -> dict[str, object]:
    return {"Timestamp": format_utc(sent_at), "Predecessor": _predecessor(entity_id, history)}


def _predecessor(entity_id: EntityId, history: Sequence[Event]) -> str:
    for event in reversed(history):
        if isinstance(event, EventSent) and event.instance_id == str(entity_id) and event.name == "op":
            text: str = json.loads(event.input)["Timestamp"]
            return text
    return _NOBODY_BEFORE


@dataclass(frozen=True)
class Protocol:
    """How what the functions are called with is written, and what they answer is read.

    The readers raise `answers.UnreadableAnswerError` and `answers.MalformedActionError`. With `holds_versions` an
    instance of a version that host.json does not have waits; workers compare versions themselves.
    """

    write_episode: Callable[[Orchestration, Sequence[Event], Sequence[Event]], str]
    read_decisions: Callable[[str], OrchestratorAnswer | Decided]
    write_batch: Callable[[EntityId, Entity | None, Sequence[Operation]], str]
    read_results: Callable[[str, int], EntityAnswer]
    write_activity: Callable[[ActivityTask], str] = lambda task: task.input
    holds_versions: bool = True


JSON = Protocol(orchestrator_payload, parse_orchestrator_answer, entity_payload, parse_entity_answer)
