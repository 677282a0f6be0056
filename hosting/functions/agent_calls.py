"""How an orchestration's call of an agent waits while some instances do not have the agent yet.

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
from collections.abc import Callable, Collection, Generator
from datetime import timedelta
from typing import Any

import azure.durable_functions as df

from hosting.core.entity.called_run import AgentCall, AgentRunError

logger = logging.getLogger(__name__)

WAIT_FUNCTION = "agents_wait"
WAIT_SECONDS = 20.0
MOST_WAITS = 30
"""Together ten minutes, in which instances of an older version end."""

_LACKS_ENTITY = re.compile(r"The (?:entity )?function '[^']*' (?:doesn't exist|is disabled or does not exist)")
"""How the engine fails an operation of an entity that an instance does not have."""


CALL = "call"
"""The next step of a run that waits for nothing. It is no wait's id."""


class Attempts:
    """The calls of one run and the waits between them: says which is next.

    `knows` says whether this instance has the agent; `waits` are the ids of those that stand in the history.
    """

    def __init__(self, call: AgentCall, knows: Callable[[str], bool], waits: Callable[[], Collection[str]]) -> None:
        self._call = call
        self._knows_agent = knows(call.agent)
        self._waits_of_history = waits
        self._calls = self._waits = 0
        self._is_waiting = False

    def after(self, failure: str | None) -> str | None:
        """Return `CALL`, the id of the wait that is next, or None where the last one has ended the run.

        `failure` is the text of the error that the last one ended with. Raises `AgentRunError` after the last wait,
        which whichever instance executes this episode decides the same.
        """
        is_lost = failure is not None and _LACKS_ENTITY.search(failure) is not None
        if self._waits < MOST_WAITS and (is_lost or self._is_waiting):
            return self.next(must_wait=is_lost)
        if self._is_waiting:
            raise AgentRunError(
                self._call, "unknown_agent", f"No agent {self._call.agent!r} is registered with the app."
            )
        return None

    def next(self, *, must_wait: bool) -> str:
        """Return the id of another wait where one is to be or stands in the history, else `CALL`."""
        wait = f"wait!{self._call.run_id}!{self._calls}!{self._waits + 1}"
        waits = self._waits_of_history()
        self._is_waiting = must_wait or not self._knows_agent or wait in waits
        if not self._is_waiting:
            self._calls += 1
            return CALL
        if not self._waits and wait not in waits:
            logger.warning("Run %s waits for agent %s.", self._call.run_id, self._call.agent)
        self._waits += 1
        return wait


def register_wait(app: df.DFApp) -> None:
    """Register the orchestration by which a call waits for an agent."""

    def wait(context: df.DurableOrchestrationContext) -> Generator[Any, Any, None]:
        yield context.create_timer(context.current_utc_datetime + timedelta(seconds=WAIT_SECONDS))

    app.function_name(WAIT_FUNCTION)(app.orchestration_trigger(context_name="context")(wait))
