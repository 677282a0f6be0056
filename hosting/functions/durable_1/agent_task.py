"""An orchestration's call of an agent as the SDK's task."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import azure.durable_functions as df
from azure.durable_functions import EntityId
from azure.durable_functions.models.Task import CompoundTask, TaskBase

from hosting.core.entity.called_run import AgentCall, AgentRunError, read_answer
from hosting.functions.agent_calls import CALL, WAIT_FUNCTION, Attempts


class AgentTask(CompoundTask):  # type: ignore[misc]  # the SDK carries no types
    """The task of one run: an entity call with the agent's response as its result, after the waits that it took.

    `knows` says whether this instance has the agent.
    """

    def __init__(
        self,
        context: df.DurableOrchestrationContext,
        call: AgentCall,
        fields: Mapping[str, Any],
        knows: Callable[[str], bool],
    ) -> None:
        self._context, self._call, self._fields = context, call, dict(fields)
        self._attempts = Attempts(call, knows, lambda: _waits(context))
        first = self._begun(self._attempts.next(must_wait=False))
        super().__init__([first])
        self.action_repr = first.action_repr  # the call's own action: the host knows no compound of one

    def try_set_value(self, child: TaskBase) -> None:
        """Take the call's end as this task's: the response, or the error that names agent, run and cause."""
        try:
            following = self._attempts.after(str(child.result) if isinstance(child.result, Exception) else None)
            if following is not None:
                self._add(self._begun(following))
                return
            response = read_answer(self._call, child.result)
        except AgentRunError as error:
            self.set_value(is_error=True, value=error)
        else:
            self.set_value(is_error=False, value=response)

    def _begun(self, step: str) -> TaskBase:
        if step == CALL:
            return self._context.call_entity(EntityId(*self._call.address.entity), "run", self._fields)
        return self._context.call_sub_orchestrator(WAIT_FUNCTION, instance_id=step)

    def _add(self, child: TaskBase) -> None:
        """Have one more task done for this one, as the SDK's own task of a long timer has."""
        child.parent = self
        self.pending_tasks.add(child)
        self._context._add_to_open_tasks(child)
        self._context._add_to_actions(child.action_repr)
        child._set_is_scheduled(True)


def _waits(context: df.DurableOrchestrationContext) -> set[str]:
    """Return the waits that stand in the history."""
    return {event.InstanceId for event in context.histories if getattr(event, "Name", None) == WAIT_FUNCTION}


def is_over(task: Any) -> bool:
    """Return whether a task has ended."""
    return bool(task.is_completed)


def result_of(task: Any) -> Any:
    """Return the result of a task that has ended, or the exception that it ended with."""
    return task.result
