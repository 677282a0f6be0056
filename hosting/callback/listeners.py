"""Who hears of an app's runs: the callback of each agent that has one, and what this process has to tell it."""

from __future__ import annotations

from hosting.callback.callback_calls import CallbackCalls
from hosting.callback.protocol import AgentCallbackContext, CallbackMethods, callback_methods
from hosting.callback.updates import Listener
from hosting.events import Accepted


class Listeners:
    """The callbacks of agents, and the listeners of runs from when an attempt begins until its end was told."""

    def __init__(self, calls: CallbackCalls) -> None:
        self._calls = calls
        self._methods: dict[str, CallbackMethods] = {}
        self._listeners: dict[str, Listener] = {}

    def add(self, agent: str, callback: object) -> None:
        """Give an agent its callback; raises `ConfigurationError` for what is none."""
        self._methods[agent.lower()] = callback_methods(callback)

    def of(self, agent: str) -> CallbackMethods | None:
        """Return the callback of the agent of that name, in whichever letter case."""
        return self._methods.get(agent.lower())

    def hears(self, agent: str) -> bool:
        """Tell whether the agent has a callback."""
        return self.of(agent) is not None

    def begin(self, accepted: Accepted) -> Listener | None:
        """Return who is to hear what a new attempt says, if anybody is."""
        methods = self.of(accepted.agent)
        if methods is None or methods.update is None:
            return None
        listener = Listener(self._calls, methods.update, AgentCallbackContext.of(accepted))
        earlier = self._listeners.get(accepted.run_id)
        if earlier is not None:
            earlier.stop()
        self._listeners[accepted.run_id] = listener
        return listener

    async def end(self, run_id: str) -> None:
        """Return once what was said of the run has been told, so that its end comes behind it."""
        listener = self._listeners.pop(run_id, None)
        if listener is not None:
            await listener.heard()
