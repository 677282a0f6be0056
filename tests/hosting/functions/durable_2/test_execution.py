"""The ids of an execution under the SDK 2.x: those that 1.7 gives out, whatever episode is made again."""

from __future__ import annotations

from typing import Any

import pytest
from durabletask.internal import orchestrator_service_pb2 as pb

from hosting.functions.durable_2.execution import Episode
from hosting.functions.execution import ExecutionName

pytestmark = pytest.mark.behaviour("hosting.durable-2")


def episode(given: str | None = '"in"', *, parent_task: int | None = None, execution: str = "x") -> Any:
    """The first episode of an instance, with the message that the SDK then gets."""
    parent = None if parent_task is None else {"taskScheduledId": parent_task}
    started = pb.ExecutionStartedEvent(
        name="ask",
        input=None if given is None else {"value": given},
        orchestrationInstance={"instanceId": "i", "executionId": {"value": execution}},
        parentInstance=parent,
    )
    request = pb.OrchestratorRequest(instanceId="i", newEvents=[pb.HistoryEvent(executionStarted=started)])
    return Episode(request), request.newEvents[0].executionStarted


def test_the_ids_of_an_execution_are_those_of_1_7() -> None:
    name = ExecutionName.of_start("i", "x")
    made, _ = episode()

    assert [made.new_uuid(), str(made.new_guid())] == [name.id(1), name.id(2)]
