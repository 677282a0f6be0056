"""The state of a thread without a run: of its session, and messages put in (docs/guides/thread-state.md).

What is written stands in the thread's log and in its document, so a thread's export, forks and deletion have it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hosting.core.services import Services
from hosting.core.thread.head import Head
from hosting.errors import HostingError
from hosting.feature import Feature, Upkeep
from hosting.features.thread_state.routes import ROUTES, StateChangedError, StateRefusedError, StateTooLargeError
from hosting.http.request import Bound, late
from hosting.http.verbs import NewMessages, PutIn
from hosting.metadata import Value
from hosting.names import Address
from hosting.plan import AgentPlan
from hosting.ports import EntityClient
from hosting.principal import Caller


class ThreadStateFeature(Feature):
    """The session state and the put messages of one app's threads."""

    name = "thread_state"

    def __init__(self, services: Services) -> None:
        self._services = services

    @classmethod
    def errors(cls) -> Sequence[type[HostingError]]:
        """Return its refusals."""
        return (StateChangedError, StateRefusedError, StateTooLargeError)

    def routes(self) -> Sequence[Bound]:
        """Return the routes of a thread's state, and of messages that are put in."""
        return late(ROUTES, self._bound)

    async def put(self, agent: AgentPlan, address: Address, new: NewMessages, caller: Caller) -> PutIn:
        """Put messages into a thread, for other protocols: `hosting.http.verbs.BeginsThreads`."""
        from hosting.features.thread_state.puts import Puts

        services = self._services
        puts = Puts(services.log, services.holders, services.stores, services.settings)
        return await puts.put(agent, address, new, caller)

    async def describe(self, address: Address, metadata: Mapping[str, Value], client: EntityClient) -> Head:
        """Give a thread that metadata, for other protocols."""
        from hosting.features.thread_state.begun import BegunThreads

        services = self._services
        async with BegunThreads(services.log, services.stores).beginning(address):
            return await services.threads.describe(address, metadata, client, replaces=True)

    def upkeep(self) -> Sequence[Upkeep]:
        """Return the look for threads that began without a run, and of which no signal was taken."""
        from hosting.features.thread_state.begun import BegunThreads

        return (BegunThreads(self._services.log, self._services.stores),)

    def _bound(self) -> Sequence[Bound]:
        from hosting.features.thread_state.http import ThreadStateHandlers

        return ThreadStateHandlers(self._services).bound()
