"""Response callbacks: what an app's author writes to hear of what agents say and how runs end.

The names are those of `agent-framework-azurefunctions`; `on_agent_failure` and `run_id` are ours. docs/callbacks.md
says when each is called.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from agent_framework import AgentResponse, AgentResponseUpdate

from hosting.errors import ConfigurationError, HostingError
from hosting.events import Accepted

Callback = Callable[..., Any]


@dataclass(frozen=True)
class AgentCallbackContext:
    """Which run a callback hears of. `request_message` is the text that was asked."""

    agent_name: str
    correlation_id: str
    session_id: str
    request_message: str

    @property
    def run_id(self) -> str:
        """The run's id, by which a callback tells repeats."""
        return self.correlation_id

    @property
    def thread_id(self) -> str:
        """The thread's id, by its other name."""
        return self.session_id

    @classmethod
    def of(cls, accepted: Accepted) -> AgentCallbackContext:
        """Return the context of a run."""
        return cls(accepted.agent, accepted.run_id, accepted.thread_id, accepted.request.message)


class AgentResponseCallbackProtocol(Protocol):
    """What may be given as `callback`. Each method may be left out, but not all; each may be synchronous."""

    async def on_streaming_response_update(self, update: AgentResponseUpdate, context: AgentCallbackContext) -> None:
        """Hear what the agent says, as it says it. At best effort: a run that is made again says it again."""

    async def on_agent_response(self, response: AgentResponse[Any], context: AgentCallbackContext) -> None:
        """Hear the answer of a run, at least once."""

    async def on_agent_failure(self, error: HostingError, context: AgentCallbackContext) -> None:
        """Hear that a run ended without an answer, at least once. `error` has `code`, `status` and `detail`."""


@dataclass(frozen=True)
class CallbackMethods:
    """The methods that a callback has."""

    update: Callback | None
    response: Callback | None
    failure: Callback | None


def callback_methods(callback: object) -> CallbackMethods:
    """Return the methods of a callback; raises `ConfigurationError` for an object that has none."""
    names = ("on_streaming_response_update", "on_agent_response", "on_agent_failure")
    found = [getattr(callback, name, None) for name in names]
    if isinstance(callback, type) or not any(map(callable, found)):
        raise ConfigurationError(
            f"{callback!r} is no callback. Give an object with at least one of the methods {', '.join(names)}."
        )
    return CallbackMethods(*(method if callable(method) else None for method in found))
