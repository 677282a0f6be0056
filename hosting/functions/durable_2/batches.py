"""The batches of an entity in the protocol of 2.x, to and from the texts of 1.7 that the entities read and write."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Awaitable, Callable
from typing import Any

from durabletask.internal.orchestrator_service_pb2 import (
    EntityBatchRequest,
    EntityBatchResult,
    OperationAction,
    OperationResult,
    OperationResultFailure,
    OperationResultSuccess,
    SendSignalAction,
    TaskFailureDetails,
)

from hosting.core.entity.batch import decoded
from hosting.ports import ClockClient

ENTITY_MARK: dict[str, Any] = {"durableRequiresGrpc": True}
"""What an entity's trigger has besides its name."""

Answer = Callable[[str, ClockClient], Awaitable[str]]


def of_texts(answer: Answer) -> Answer:
    """Return what answers the trigger's text, given what answers the entity's."""

    async def answered(body: str, client: ClockClient) -> str:
        return _answer_text(await answer(_batch_text(body), client))

    return answered


def _batch_text(body: str) -> str:
    """Return the text of a batch for the trigger's: base64 of an `EntityBatchRequest`.

    It does not say which operations are signals. Nobody reads the result of one that is `logged`: a call for a run is
    the only operation whose caller waits.
    """
    request = EntityBatchRequest.FromString(b64decode(body))
    _, name, key = request.instanceId.split("@", 2)
    has_state = request.HasField("entityState")
    batch = [
        {
            "name": operation.operation,
            "input": operation.input.value if operation.HasField("input") else None,
            "isSignal": _is_signal(operation.input.value),
            "id": operation.requestId,
        }
        for operation in request.operations
    ]
    state = request.entityState.value if has_state else None
    return json.dumps({"self": {"name": name, "key": key}, "exists": has_state, "state": state, "batch": batch})


def _is_signal(text: str) -> bool:
    value = decoded(text)
    return isinstance(value, dict) and bool(value.get("logged"))


def _answer_text(text: str) -> str:
    """Return the trigger's answer for that of the entity: base64 of an `EntityBatchResult`."""
    answer = json.loads(text)
    result = EntityBatchResult(
        results=[_result(each) for each in answer["results"]],
        actions=[_action(number, signal) for number, signal in enumerate(answer["signals"])],
        entityState={"value": answer["entityState"]} if answer["entityExists"] else None,
    )
    return b64encode(result.SerializeToString()).decode()


def _result(result: dict[str, Any]) -> OperationResult:
    if result["isError"]:
        details = TaskFailureDetails(errorType="RefusedOperation", errorMessage=json.loads(result["result"]))
        return OperationResult(failure=OperationResultFailure(failureDetails=details))
    return OperationResult(success=OperationResultSuccess(result={"value": result["result"]}))


def _action(number: int, signal: dict[str, Any]) -> OperationAction:
    target = f"@{signal['target']['name']}@{signal['target']['key']}"
    given = {"value": signal["input"]}
    return OperationAction(id=number, sendSignal=SendSignalAction(instanceId=target, name=signal["name"], input=given))
