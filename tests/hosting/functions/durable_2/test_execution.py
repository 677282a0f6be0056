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


def begun(made: Episode) -> tuple[str, str]:
    """The inputs of the child and of the next execution that an episode begins with the input 5."""
    response = pb.OrchestratorResponse(
        actions=[
            pb.OrchestratorAction(id=1, createSubOrchestration={"name": "child", "input": {"value": "5"}}),
            pb.OrchestratorAction(
                id=2,
                completeOrchestration={
                    "orchestrationStatus": pb.ORCHESTRATION_STATUS_CONTINUED_AS_NEW,
                    "result": {"value": "5"},
                },
            ),
        ]
    )
    made.put_around(response)
    child, ended = response.actions
    return child.createSubOrchestration.input.value, ended.completeOrchestration.result.value


def test_the_ids_of_an_execution_are_those_of_1_7() -> None:
    name = ExecutionName.of_start("i", "x")
    made, _ = episode()

    assert [made.new_uuid(), str(made.new_guid())] == [name.id(1), name.id(2)]


def test_what_an_execution_begins_has_the_same_ids_when_it_is_begun_again() -> None:
    """Although the engine gives it another execution id: its name came with its input, which the code does not see."""
    child, following = begun(episode()[0])
    again = [
        [made.new_uuid() for made, _ in (episode(child, parent_task=1, execution=id), episode(following, execution=id))]
        for id in ("first", "second")
    ]

    assert again[0] == again[1]
    assert len({*again[0], episode()[0].new_uuid()}) == 3
    assert [started.input.value for _, started in (episode(child, parent_task=1), episode(following))] == ["5", "5"]
