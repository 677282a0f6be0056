"""What the app's functions are called with and answer in this protocol: base64 texts of messages.

The SDK follows the history by itself. So its answer has what is new alone, each with the number that the history is to
have for it, and the engine carries that out without a replay of its own.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from durabletask.internal import orchestrator_service_pb2 as pb
from google.protobuf.message import DecodeError

from devhost.durable.answers import (
    EmittedSignal,
    EmittedStart,
    EntityAnswer,
    MalformedActionError,
    OperationResult,
    UnreadableAnswerError,
)
from devhost.durable.events import Event, EventRaised
from devhost.durable.grpc.history import event_message, event_of, moment, moment_of, text_of, wrapped
from devhost.durable.records import Entity, EntityId, Operation, Orchestration
from devhost.durable.replay import (
    Command,
    Continued,
    CreateChild,
    Decided,
    LockEntities,
    Raised,
    ReleaseEntity,
    Result,
    Returned,
    ScheduleTask,
    SendEvent,
    SendOperation,
    SetTimer,
)
from devhost.durable.wire import Protocol


def _write_episode(instance: Orchestration, past: Sequence[Event], new: Sequence[Event]) -> str:
    request = pb.OrchestratorRequest(
        instanceId=instance.instance_id,
        executionId=wrapped(instance.execution_id),
        pastEvents=[event_message(event) for event in past],
        newEvents=[event_message(event) for event in new],
    )
    return _encoded(request)


def _read_decisions(text: str) -> Decided:
    response = _decoded(pb.OrchestratorResponse, text)
    commands: list[Command] = []
    result: Result | None = None
    carried: tuple[EventRaised, ...] = ()
    for action in response.actions:
        kind = str(action.WhichOneof("orchestratorActionType"))
        if kind == "completeOrchestration":
            result = _result(action.completeOrchestration)
            carried = tuple(event_of(event) for event in action.completeOrchestration.carryoverEvents)
        else:
            commands.append(_command(kind, action, response.instanceId))
    next_id = max((action.id + 1 for action in response.actions), default=0)
    return Decided(tuple(commands), result, next_id, carried, text_of(response, "customStatus"))


def _result(ended: pb.CompleteOrchestrationAction) -> Result:
    given = text_of(ended, "result")
    match ended.orchestrationStatus:
        case pb.ORCHESTRATION_STATUS_COMPLETED:
            return Returned(given)
        case pb.ORCHESTRATION_STATUS_CONTINUED_AS_NEW:
            return Continued(given)
        case _:
            return Raised(ended.failureDetails.errorMessage)


def _command(kind: str, action: pb.OrchestratorAction, instance_id: str) -> Command:
    if kind not in _COMMANDS:
        raise MalformedActionError(f"this host does not carry out the action '{kind}'")
    return _COMMANDS[kind](action.id, getattr(action, kind), instance_id)


def _send(number: int, message: pb.SendEntityMessageAction, instance_id: str) -> Command:
    kind = str(message.WhichOneof("EntityMessageType"))
    sent: Any = getattr(message, kind, None)
    if kind == "entityLockRequested":
        return LockEntities(number, sent.criticalSectionId, tuple(map(EntityId.parse, sent.lockSet)))
    if kind == "entityUnlockSent":
        return ReleaseEntity(number, sent.criticalSectionId, EntityId.parse(sent.targetInstanceId.value))
    if kind not in ("entityOperationCalled", "entityOperationSignaled"):
        raise MalformedActionError(f"this host does not carry out the entity message '{kind}'")
    return SendOperation(
        number,
        EntityId.parse(sent.targetInstanceId.value),
        sent.requestId,
        sent.operation,
        text_of(sent, "input"),
        is_signal=kind == "entityOperationSignaled",
        due=moment_of(sent, "scheduledTime"),
    )


_COMMANDS: Mapping[str, Callable[[int, Any, str], Command]] = {
    "scheduleTask": lambda number, task, _: ScheduleTask(number, task.name, text_of(task, "input") or "null"),
    "createTimer": lambda number, timer, _: SetTimer(number, moment(timer.fireAt)),
    "createSubOrchestration": lambda number, child, instance_id: CreateChild(
        number,
        child.name,
        text_of(child, "input"),
        child.instanceId or f"{instance_id}:{number:04x}",
        text_of(child, "version"),
    ),
    "sendEntityMessage": _send,
    "sendEvent": lambda number, event, _: SendEvent(
        number, event.instance.instanceId, event.name, text_of(event, "data") or "null"
    ),
}


def _write_batch(entity_id: EntityId, entity: Entity | None, operations: Sequence[Operation]) -> str:
    request = pb.EntityBatchRequest(
        instanceId=str(entity_id),
        entityState=wrapped(entity.state if entity is not None and entity.exists else None),
        operations=[
            pb.OperationRequest(operation=operation.name, requestId=operation.id, input=wrapped(operation.input))
            for operation in operations
        ],
    )
    return _encoded(request)


def _read_results(text: str, operations: int) -> EntityAnswer:
    answer = _decoded(pb.EntityBatchResult, text)
    if answer.HasField("failureDetails"):
        raise UnreadableAnswerError(f"the batch failed: {answer.failureDetails.errorMessage}")
    if len(answer.results) != operations:
        raise UnreadableAnswerError(f"the entity answered {len(answer.results)} results to {operations} operations")
    state = text_of(answer, "entityState")
    outcomes = tuple(_outcome(result) for result in answer.results)
    signals = tuple(_signal(action.sendSignal) for action in answer.actions if action.HasField("sendSignal"))
    begun = (action.startNewOrchestration for action in answer.actions if action.HasField("startNewOrchestration"))
    return EntityAnswer(state is not None, state, outcomes, signals, tuple(_start(action) for action in begun))


def _outcome(result: pb.OperationResult) -> OperationResult:
    if result.HasField("failure"):
        return OperationResult(json.dumps(result.failure.failureDetails.errorMessage), is_error=True)
    return OperationResult(text_of(result.success, "result"), is_error=False)


def _signal(signal: pb.SendSignalAction) -> EmittedSignal:
    target = EntityId.parse(signal.instanceId)
    due = moment_of(signal, "scheduledTime")
    return EmittedSignal(target.name, target.key, signal.name, text_of(signal, "input"), due)


def _start(action: pb.StartNewOrchestrationAction) -> EmittedStart:
    given, version, due = text_of(action, "input"), text_of(action, "version"), moment_of(action, "scheduledTime")
    return EmittedStart(action.name, action.instanceId, given, version, due)


def _encoded(message: Any) -> str:
    return b64encode(message.SerializeToString()).decode()


def _decoded(kind: Any, text: str) -> Any:
    try:
        return kind.FromString(b64decode(text, validate=True))
    except (ValueError, DecodeError) as error:
        raise UnreadableAnswerError(f"the function's answer is no {kind.__name__}: {error}") from error


PROTOBUF = Protocol(_write_episode, _read_decisions, _write_batch, _read_results)
"""What the extension speaks with the SDK 2.x."""
