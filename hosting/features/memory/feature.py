"""The memories of an app's agents: their routes, and what is known of an owner."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from hosting.core.agent.held_run import HeldRun
from hosting.core.cells import Cells
from hosting.core.thread_log import ThreadLog
from hosting.errors import HostingError
from hosting.feature import Feature, OwnerData
from hosting.http.request import Bound
from hosting.plan import AgentPlan, Plan
from hosting.principal import Caller

if TYPE_CHECKING:
    from hosting.features.memory.facts import Memories
    from hosting.features.memory.http import ShownFact

_PROVIDER = "hosting.features.memory.provider"
"""The module of `OwnerMemory`: an agent that has one has imported it."""


class MemoryFeature(Feature):
    """The memories of one app; an agent has one by an `OwnerMemory` among its context providers."""

    name = "memory"
    paths = ("memory",)
    absent = "No agent of this app remembers its callers: none has an OwnerMemory."
    links: ClassVar[Mapping[str, str]] = {"memory_url": "memory"}
    page = Path(__file__).with_name("ui")

    def __init__(self, cells: Cells, log: ThreadLog, held: Mapping[str, HeldRun], plan: Plan, most_bytes: int) -> None:
        """`held` are the runs of this process. A request has at most so many bytes."""
        self._cells = cells
        self._log = log
        self._held = held
        self._plan = plan
        self._most_bytes = most_bytes
        self._is_on = False

    @cached_property
    def memories(self) -> Memories:
        """The memories, also of owners of an app that had some before."""
        from hosting.features.memory.facts import Memories

        return Memories(self._cells, self._log.clocks)

    @classmethod
    def errors(cls) -> Sequence[type[HostingError]]:
        """Return its refusals."""
        from hosting.features.memory.facts import MemoryFullError, UnknownFactError

        return (
            UnknownFactError,
            MemoryFullError,
        )

    @property
    def is_on(self) -> bool:
        """Whether any agent remembers. For one that does not, the routes show an empty list."""
        return self._is_on

    def has(self, agent: AgentPlan) -> bool:
        """Return whether an agent remembers; a workflow does not, though its agents may."""
        return self._is_on and agent.workflow is None and agent.name.lower() in self.memories.agents

    def add(self, agent: AgentPlan) -> None:
        """Connect an agent's memories; raise `ConfigurationError` for one that would be everybody's."""
        if _PROVIDER in sys.modules:
            attach = self.memories.attach
            self._is_on |= attach(agent.agent, agent.name, self._held, has_owners=self._plan.has_owners)

    def routes(self) -> Sequence[Bound]:
        """Return the routes of all agents' memories."""
        from hosting.features.memory.http import MemoryHandlers

        return MemoryHandlers(self.memories, self._most_bytes).bound()

    def owner_data(self) -> OwnerData:
        """Return the facts that each agent knows of an owner, by the agent's name."""
        from hosting.features.memory.http import ShownFact

        return OwnerData("memories", dict[str, list[ShownFact]], self._export, self._erase)

    async def _export(self, caller: Caller) -> dict[str, list[ShownFact]]:
        from hosting.features.memory.http import fact_fields

        facts = {agent: await self.memories.facts(agent, caller.owner) for agent in await self._log.agents()}
        return {
            self._plan.names.get(agent, agent): [*map(fact_fields, known)] for agent, known in facts.items() if known
        }

    async def _erase(self, caller: Caller) -> None:
        await self.memories.erase(await self._log.agents(), caller.owner)
