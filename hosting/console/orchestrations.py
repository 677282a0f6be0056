"""Agents inside orchestrations of the SDK: the proxy's calls as tasks to `yield`, alone, in when_all and when_any."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agent_framework import AgentResponse
from durabletask.entities import EntityInstanceId
from durabletask.task import CompletableTask, CompositeTask, OrchestrationContext, Task, TaskFailedError

from hosting.calling.called_answer import AgentRunError, Call, read_answer
from hosting.names import entity_name


class AgentTask(CompositeTask[AgentResponse[Any]]):
    """The task of one run: an entity call whose result is read as the agent's response."""

    def __init__(self, call: Call, sent: CompletableTask[Any]) -> None:
        self._call = call
        super().__init__([sent])

    def on_child_completed(self, task: Task[Any]) -> None:
        """Take the call's end as this task's: the response, or the error that names agent, run and cause."""
        try:
            self._result = read_answer(self._call, _told(task.get_exception()) if task.is_failed else task.get_result())
        except AgentRunError as error:
            self._exception = error  # type: ignore[assignment]  # raised as it is, as in Azure Functions
        self._is_complete = True
        self._notify_parent()


class CallingOrchestration:
    """A running orchestration, for the proxies in it."""

    def __init__(self, context: OrchestrationContext) -> None:
        self._context = context

    @property
    def orchestration_id(self) -> str:
        """The orchestration's id."""
        return self._context.instance_id

    def new_id(self) -> str:
        """Return the next id; the SDK makes it of instance, time and a counter, so a replay makes the same one."""
        return str(self._context.new_uuid()).replace("-", "")

    def call(self, call: Call, fields: Mapping[str, Any]) -> AgentTask:
        """Return the task that calls the agent's entity."""
        place = EntityInstanceId(entity_name(call.agent), call.thread_id)
        return AgentTask(call, self._context.call_entity(place, "run", dict(fields)))


def _told(failure: TaskFailedError) -> Exception:
    """Return the entity's own sentence, which the SDK has packed into the failure of the call."""
    return Exception((failure.details.inner_failure or failure.details).message)
