"""Agents inside Durable Functions orchestrations: the proxy's calls as tasks of the SDK.

The SDK's retry around an entity call is not used: it would run the agent again for an outcome that is recorded, and on
the real host `task_all` with retries loses its place (host contract 0.5, 21 and 23).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import azure.durable_functions as df
from azure.durable_functions.models.Task import CompoundTask, TaskBase

from hosting.calling.called_answer import AgentRunError, Call, read_answer
from hosting.calling.proxy import DurableAgent
from hosting.names import entity_name
from hosting.plan import Plan
from hosting.retry import Retry


class AgentTask(CompoundTask):  # type: ignore[misc]  # the SDK carries no types
    """The task of one run: an entity call whose result is read as the agent's response."""

    def __init__(self, call: Call, sent: TaskBase) -> None:
        self._call = call
        super().__init__([sent])
        self.action_repr = sent.action_repr  # the call's own action: the host knows no compound of one

    def try_set_value(self, child: TaskBase) -> None:
        """Take the call's end as this task's: the response, or the error that names agent, run and cause."""
        try:
            response = read_answer(self._call, child.result)
        except AgentRunError as error:
            self.set_value(is_error=True, value=error)
        else:
            self.set_value(is_error=False, value=response)


class CallingOrchestration:
    """A running orchestration, for the proxies in it."""

    def __init__(self, context: df.DurableOrchestrationContext) -> None:
        self._context = context

    @property
    def orchestration_id(self) -> str:
        """The orchestration's id."""
        return str(self._context.instance_id)

    def new_id(self) -> str:
        """Return the next id; the SDK makes it of instance, time and a counter, so a replay makes the same one."""
        return str(self._context.new_uuid()).replace("-", "")

    def call(self, call: Call, fields: Mapping[str, Any]) -> AgentTask:
        """Return the task that calls the agent's entity."""
        place = df.EntityId(entity_name(call.agent), call.thread_id)
        return AgentTask(call, self._context.call_entity(place, "run", dict(fields)))


def get_agent(
    context: df.DurableOrchestrationContext, plan: Plan, name: str, retry: Retry | None = None
) -> DurableAgent[AgentTask]:
    """Return the proxy of a registered agent; raises `UnknownAgentError` for a name that is none."""
    planned = plan.known(name)
    return DurableAgent(planned.name, planned.description, CallingOrchestration(context), retry)
