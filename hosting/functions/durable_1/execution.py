"""One execution of an orchestration as the SDK's context, whose ids are made of its name (`functions.execution`)."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any
from uuid import UUID

import azure.durable_functions as df
import azure.functions as func
from azure.durable_functions.models.history import HistoryEventType
from azure.durable_functions.models.Task import TaskBase

from hosting.functions.execution import ExecutionName, GivenInput, read_input


class Execution(df.DurableOrchestrationContext):  # type: ignore[misc]  # the SDK carries no types
    """The SDK's context, whose `new_uuid` returns the same ids in every replay of an episode."""

    def __init__(
        self,
        history: list[dict[str, Any]],
        instanceId: str,
        isReplaying: bool,
        parentInstanceId: str | None,
        input: object = None,
        **others: Any,
    ) -> None:
        given = read_input(input)
        super().__init__(history, instanceId, isReplaying, parentInstanceId, given.input, **others)
        self.input_type: type | None = None
        self._name = self._named(given)
        self._ids = 0

    def _named(self, given: GivenInput) -> ExecutionName:
        started = next(event for event in self.histories if event.event_type == HistoryEventType.EXECUTION_STARTED)
        # A client's start has a generation. Where it restarts an instance, its input names an execution that is over.
        is_handed_on = getattr(started, "Generation", None) is None
        if is_handed_on and given.name is not None:
            return ExecutionName(given.name)
        if is_handed_on and given.parent is not None and started.ParentInstance:
            return ExecutionName.of_child(given.parent, started.ParentInstance["TaskScheduleId"])
        return ExecutionName.of_start(self.instance_id, started.OrchestrationInstance["ExecutionId"])

    def new_uuid(self) -> str:
        """Return the next id of this execution, the same one at every repetition."""
        self._ids += 1
        return self._name.id(self._ids)

    def new_guid(self) -> UUID:
        """Return `new_uuid` as an object."""
        return UUID(self.new_uuid())

    def get_input(self, expected_type: type | None = None) -> Any:
        """Return the input."""
        return super().get_input(expected_type or self.input_type)

    def continue_as_new(self, input_: Any) -> None:
        """Continue with that input, under a name that follows from this one's."""
        super().continue_as_new(self._name.for_next(input_))

    def call_sub_orchestrator(self, name: Any, input_: Any = None, *others: Any, **options: Any) -> TaskBase:
        """Return the task of a sub-orchestration with that input."""
        return super().call_sub_orchestrator(name, self._name.for_child(input_), *others, **options)

    def call_sub_orchestrator_with_retry(
        self, name: Any, retry_options: df.RetryOptions, input_: Any = None, *others: Any, **options: Any
    ) -> TaskBase:
        """Return the task of a sub-orchestration with that input, tried again as the options say."""
        given = self._name.for_child(input_)
        return super().call_sub_orchestrator_with_retry(name, retry_options, given, *others, **options)


class LaterSdkError(Exception):
    """The execution began under the SDK 2.x."""


_REQUESTS = (
    *(HistoryEventType.TASK_SCHEDULED, HistoryEventType.TIMER_CREATED, HistoryEventType.EVENT_SENT),
    HistoryEventType.SUB_ORCHESTRATION_INSTANCE_CREATED,
)


def _check_began_here(execution: Execution) -> None:
    """Raise `LaterSdkError` for numbers of 2.x, which begin with 1: a result would go to another task.

    A rewind takes the request 0 away and leaves its number.
    """
    has_requests = any(event.event_type in _REQUESTS for event in execution.histories)
    if has_requests and all(event.event_id != 0 for event in execution.histories):
        raise LaterSdkError(
            "This execution began under the Durable Functions SDK 2.x, and SDK 1.7 cannot go on with it. "
            "Take 2.x again until it has ended, or start it again."
        )


def naming(handle: Callable[..., str]) -> Callable[..., str]:
    """Return the handler of an orchestrator, which then has an `Execution` as its context."""
    orchestrator = handle.orchestrator_function  # type: ignore[attr-defined]  # the SDK's name for what it wraps

    @functools.wraps(handle)
    def named(context: func.OrchestrationContext) -> str:
        execution = Execution.from_json(getattr(context, "body", context))
        _check_began_here(execution)
        execution.input_type = getattr(handle, "_df_input_type", None)
        answer: str = df.Orchestrator(orchestrator).handle(execution)
        return answer

    return named
