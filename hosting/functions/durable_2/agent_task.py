"""An orchestration's call of an agent as the Durable Task SDK's task, after the waits that it took."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import azure.durable_functions as df
from durabletask.entities import EntityInstanceId
from durabletask.task import Task

from hosting import task_hub
from hosting.core.entity.called_run import AgentCall, AgentRunError
from hosting.functions.agent_calls import CALL, WAIT_FUNCTION, Attempts
from hosting.functions.durable_2.execution import EPISODE


class AgentTask(task_hub.AgentTask):
    """The task of one run. `knows` says whether this instance has the agent."""

    def __init__(
        self,
        context: df.DurableOrchestrationContext,
        call: AgentCall,
        fields: Mapping[str, Any],
        knows: Callable[[str], bool],
    ) -> None:
        self._context, self._fields = context, dict(fields)
        self._attempts = Attempts(call, knows, lambda: EPISODE.get().children)
        self._call = call
        super().__init__(call, self._begun(self._attempts.next(must_wait=False)))

    def on_child_completed(self, task: Task[Any]) -> None:
        """Take the call's end as this task's, or begin what comes after it."""
        try:
            following = self._attempts.after(self.failure_of(task) if task.is_failed else None)
        except AgentRunError as error:
            self.fail(error)
            return
        if following is None:
            super().on_child_completed(task)
            return
        child = self._begun(following)
        self._pending_children[id(child)] = (child, 1)
        child._parents[id(self)] = self

    def _begun(self, step: str) -> Task[Any]:
        if step != CALL:
            waiting: Task[Any] = self._context.call_sub_orchestrator(WAIT_FUNCTION, instance_id=step)
            return waiting
        entity = EntityInstanceId(*self._call.address.entity)
        called: Task[Any] = self._context.call_entity(entity, "run", self._fields)
        return called


def is_over(task: Task[Any]) -> bool:
    """Return whether a task has ended."""
    return task.is_complete


def result_of(task: Task[Any]) -> Any:
    """Return the result of a task that has ended, or the exception that it ended with, which the SDK would raise."""
    return task.get_exception() if task.is_failed else task.get_result()
