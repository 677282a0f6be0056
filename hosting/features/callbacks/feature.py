"""The callbacks of an app: which agents have one, and their calls for the ends of runs.

Theory. A call for a run's end is signalled with the commit that applies it, and made at least once
(`functions.feature_entities`). The signal names the run and nothing else: the callback gets what the thread's log has,
and is not called for a run that was deleted. A callback that failed was called; one that could not be is delivered
again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pydantic import Field

from hosting.core.agent.held_run import read_run
from hosting.core.hooks import ENTITY, NO_HOOKS, AgentHooks, Signal, key_of
from hosting.core.outcome import run_error
from hosting.core.thread.events import Completed, Terminal
from hosting.core.thread.run import Ended, Run
from hosting.core.thread_log import ThreadLog
from hosting.errors import InvalidFieldError
from hosting.feature import Activity, EntityOperation, Feature, Orchestration
from hosting.names import Address
from hosting.plan import AgentPlan
from hosting.ports import ClockClient
from hosting.settings import SettingsPart
from state.convert import agent_response
from state.models import ResponseEntry

if TYPE_CHECKING:
    from hosting.features.callbacks.callbacks import AgentCallbackContext, Callback, CallbackCalls, Listeners

OPERATION = "call"


class CallbacksBusyError(Exception):
    """No callback can be begun in this process at present: the delivery is given back to the host."""


class CallbackSettings(SettingsPart):
    """The settings of response callbacks."""

    callback_seconds: float = Field(30.0, gt=0, le=300)
    """How long one call of a response callback may take before it is left behind."""


class CallbacksFeature(Feature):
    """The callbacks of one app."""

    name = "callbacks"
    settings = CallbackSettings

    def __init__(self, log: ThreadLog, settings: CallbackSettings) -> None:
        self._settings = settings
        self._log = log
        self._has_any = False

    @cached_property
    def _calls(self) -> CallbackCalls:
        from hosting.features.callbacks.callbacks import CallbackCalls

        return CallbackCalls(self._settings.callback_seconds)

    @cached_property
    def _listeners(self) -> Listeners:
        from hosting.features.callbacks.callbacks import Listeners

        return Listeners(self._calls)

    def add(self, agent: AgentPlan) -> None:
        """Take up an agent's callback; raise `ConfigurationError` for one without a method."""
        if agent.options.callback is not None:
            self._listeners.add(agent.name, agent.options.callback)
            self._has_any = True

    def hooks(self, agent: AgentPlan) -> AgentHooks:
        """Return the listener of the updates, and the calls for the ends of runs, of an agent that has a callback."""
        if agent.options.callback is None:
            return NO_HOOKS
        return AgentHooks(listen=self._listeners.begin, on_end=[_calls])

    def durable(self) -> Sequence[Orchestration | Activity | EntityOperation]:
        """Return the operation that calls a callback, if there is one."""
        return (EntityOperation(OPERATION, self._call_for),) if self._has_any else ()

    async def close(self) -> None:
        """Return once the updates of all attempts that have ended are passed on."""
        if self._has_any:
            await self._listeners.close()

    async def _call_for(self, order: Any, client: ClockClient) -> None:
        match order:
            case {"agent": str(agent), "thread_id": str(key), "run_id": str(run_id)}:
                run = await read_run(self._log, Address.of_entity(agent, key), run_id)
            case _:
                raise InvalidFieldError(f"The operation {OPERATION!r} takes 'agent', 'thread_id' and 'run_id'.")
        if isinstance(run, Run) and isinstance(run.state, Ended):
            await self._notify(run, run.state.end)

    async def _notify(self, run: Run, terminal: Terminal) -> None:
        from hosting.features.callbacks.callbacks import AgentCallbackContext

        await self._listeners.end(run.run_id)
        methods = self._listeners.of(run.accepted.agent)
        if methods is None:
            return
        context = AgentCallbackContext.of(run)
        if not isinstance(terminal, Completed):
            await self._call(methods.failure, run_error(terminal), context)
        elif methods.response is not None and isinstance(terminal.response, ResponseEntry):
            await self._call(methods.response, agent_response(terminal.response), context)

    async def _call(self, callback: Callback | None, value: object, context: AgentCallbackContext) -> None:
        from hosting.features.callbacks.callbacks import CallOutcome

        if callback is not None and await self._calls.call(callback, value, context) is CallOutcome.NOT_BEGUN:
            raise CallbacksBusyError(f"No callback can be started for run {context.run_id}.")


def _calls(address: Address, ended: Iterable[Terminal]) -> list[Signal]:
    return [callback_signal(address, terminal.run_id) for terminal in ended]


def callback_signal(address: Address, run_id: str) -> Signal:
    """Return the signal that has the callback called for a run's end."""
    order = {"agent": address.agent, "thread_id": address.entity[1], "run_id": run_id}
    return Signal(ENTITY, key_of(run_id), OPERATION, order)
