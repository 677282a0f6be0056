"""An entity's batch in the protocol of the SDK 2.x, as the entities of 1.7 read and answer it."""

from __future__ import annotations

from base64 import b64decode, b64encode
from typing import Any

import pytest
from durabletask.internal import orchestrator_service_pb2 as pb

from hosting.core.entity.batch import Done, Operation, RefusedOperation, parse_batch, write_answer
from hosting.core.hooks import Signal
from hosting.functions.durable_2.batches import of_texts

pytestmark = pytest.mark.behaviour("hosting.durable-2")


async def exchanged(request: pb.EntityBatchRequest, answer: str) -> tuple[Any, pb.EntityBatchResult]:
    """Return the batch that the entity reads, and the message that the host gets for the entity's answer."""
    batches = []

    async def entity(text: str, client: Any) -> str:
        batches.append(parse_batch(text))
        return answer

    body = b64encode(request.SerializeToString()).decode()
    result = await of_texts(entity)(body, None)  # type: ignore[arg-type]
    return batches[0], pb.EntityBatchResult.FromString(b64decode(result))


async def test_an_entity_reads_its_state_and_its_operations() -> None:
    """A signal is told by what it says: the protocol does not tell it from a call."""
    request = pb.EntityBatchRequest(
        instanceId="@dafx-joker@t@1",
        entityState={"value": '{"a":1}'},
        operations=[
            pb.OperationRequest(operation="run", requestId="1-2", input={"value": '{"message":"Hi"}'}),
            pb.OperationRequest(operation="run", requestId="3", input={"value": '"{\\"logged\\":true}"'}),
            pb.OperationRequest(operation="expire", requestId="4"),
        ],
    )

    batch, _ = await exchanged(request, write_answer(None, [], 0.0))

    assert (batch.key, batch.state) == ("t@1", '{"a":1}')
    assert batch.operations == (
        Operation("run", {"message": "Hi"}, is_signal=False, id="12"),
        Operation("run", {"logged": True}, is_signal=True, id="3"),
        Operation("expire", None, is_signal=False, id="4"),
    )


async def test_the_host_gets_a_result_for_each_operation_and_the_signals() -> None:
    """A refusal is a failure with the entity's sentence."""
    results = [Done({"é": 1}, (Signal("agents", "k", "send", {"n": 1}),)), RefusedOperation("No.")]
    answer = write_answer('{"a":2}', results, 0.0)

    _, result = await exchanged(pb.EntityBatchRequest(instanceId="@e@k"), answer)

    assert result.entityState.value == '{"a":2}'
    assert result.results[0].success.result.value == '{"é": 1}'
    assert result.results[1].failure.failureDetails.errorMessage == "No."
    (action,) = result.actions
    assert (action.sendSignal.instanceId, action.sendSignal.name) == ("@agents@k", "send")
    assert action.sendSignal.input.value == '"{\\"n\\": 1}"'
