"""An orchestration's call of an agent as the SDK's task, also while some instances do not have the agent yet.

Theory. In a deployment two things fail for a new agent. An older instance that is handed the entity's operation fails
it; and one that executes the orchestration's episode must not call the entity, for the engine refuses a call to an
entity that the instance lacks, and the orchestration would hang. In both cases the task waits and tries again: the run
has its id, so it is one run. A wait is an orchestration that every version has. Its id has the run, the calls before it
and a number: of all that an episode asks for, the history shows a child's id alone. So a replay in any instance finds
which waits there were, and decides nothing anew. After so many the call fails as for an agent that there is not.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Generator, Mapping
from datetime import timedelta
from typing import Any

import azure.durable_functions as df
from azure.durable_functions import EntityId
from azure.durable_functions.models.Task import CompoundTask, TaskBase

from hosting.core.entity.called_run import AgentCall, AgentRunError, read_answer

logger = logging.getLogger(__name__)

WAIT_FUNCTION = "agents_wait"
WAIT_SECONDS = 20.0
MOST_WAITS = 30
"""Together ten minutes, in which instances of an older version end."""

_LACKS_ENTITY = re.compile(r"The (?:entity )?function '[^']*' (?:doesn't exist|is disabled or does not exist)")
"""How the engine fails an operation of an entity that an instance does not have."""


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
        self._knows_agent = knows(call.agent)
        self._calls = self._waits = 0
        self._waiting: TaskBase | None = None
        first = self._next(must_wait=False)
        super().__init__([first])
        self.action_repr = first.action_repr  # the call's own action: the host knows no compound of one

    def try_set_value(self, child: TaskBase) -> None:
        """Take the call's end as this task's: the response, or the error that names agent, run and cause."""
        is_lost = isinstance(child.result, Exception) and _LACKS_ENTITY.search(str(child.result)) is not None
        if self._waits < MOST_WAITS and (is_lost or child is self._waiting):
            self._add(self._next(must_wait=is_lost))
            return
        try:
            if child is self._waiting:  # the last one; whichever instance executes this episode decides the same
                detail = f"No agent {self._call.agent!r} is registered with the app."
                raise AgentRunError(self._call, "unknown_agent", detail)
            response = read_answer(self._call, child.result)
        except AgentRunError as error:
            self.set_value(is_error=True, value=error)
        else:
            self.set_value(is_error=False, value=response)

    def _next(self, *, must_wait: bool) -> TaskBase:
        """Return another wait where one is to be or stands in the history, else the call."""
        wait = f"wait!{self._call.run_id}!{self._calls}!{self._waits + 1}"
        waits = _waits(self._context)
        if must_wait or not self._knows_agent or wait in waits:
            if not self._waits and wait not in waits:
                logger.warning("Run %s waits for agent %s.", self._call.run_id, self._call.agent)
            self._waits += 1
            self._waiting = self._context.call_sub_orchestrator(WAIT_FUNCTION, instance_id=wait)
            return self._waiting
        self._calls += 1
        return self._context.call_entity(EntityId(*self._call.address.entity), "run", self._fields)

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


def register_wait(app: df.DFApp) -> None:
    """Register the orchestration by which a call waits for an agent."""

    def wait(context: df.DurableOrchestrationContext) -> Generator[Any, Any, None]:
        yield context.create_timer(context.current_utc_datetime + timedelta(seconds=WAIT_SECONDS))

    app.function_name(WAIT_FUNCTION)(app.orchestration_trigger(context_name="context")(wait))
