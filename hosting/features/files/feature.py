"""The files that agents keep by agent-framework's providers of files: with the thread or the owner, not on the disk.

Files of a session stand in the thread's session state and among its attachments: an export, an erasure, a fork and a
deletion of the thread have them too. Those that a provider keeps for many threads are the owner's.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import cached_property, partial
from typing import TYPE_CHECKING

from hosting.core.agent.held_run import HeldRun
from hosting.core.cells import Cells
from hosting.core.stores.stores import Stores
from hosting.core.thread_log import ThreadLog
from hosting.feature import Feature, OwnerData
from hosting.plan import AgentPlan, Plan
from hosting.principal import Caller

if TYPE_CHECKING:
    from hosting.features.files.owned import OwnedFiles
    from hosting.features.files.provider import FilesOfRun

_PROVIDERS = "agent_framework._harness._file_access"
"""The module of the framework's file stores: an agent that has a provider of files has imported it."""

_Exported = dict[str, dict[str, dict[str, str | None]]]


class FilesFeature(Feature):
    """The files of one app's agents; an agent has some by a `FileMemoryProvider` or a `FileAccessProvider`."""

    name = "files"

    def __init__(self, cells: Cells, stores: Stores, log: ThreadLog, held: Mapping[str, HeldRun], plan: Plan) -> None:
        """`held` are the runs of this process."""
        self._cells = cells
        self._stores = stores
        self._log = log
        self._held = held
        self._plan = plan
        self._workflows: set[str] = set()

    @cached_property
    def owned(self) -> OwnedFiles:
        """The files of owners, also of an app that had some before."""
        from hosting.features.files.owned import OwnedFiles

        return OwnedFiles(self._cells, self._stores, self._log.clocks)

    def add(self, agent: AgentPlan) -> None:
        """Have an agent's providers, and those of a workflow's agents, keep their files in the app."""
        if _PROVIDERS not in sys.modules:
            return
        from hosting.features.files.provider import keep_files

        if agent.workflow is None:
            keep_files([agent.agent], self._of_run, set())
        else:
            self._workflows.add(agent.name.lower())
            agent.workflow.prepare.append(partial(keep_files, of_run=self._of_run, announced=set()))

    def owner_data(self) -> OwnerData:
        """Return the files that an owner has with each agent, by its name, the provider's, and their paths."""
        return OwnerData("files", _Exported, self._export, self._erase, counted=True)

    async def _export(self, caller: Caller) -> _Exported:
        files = {agent: await self.owned.export(agent, caller.owner) for agent in await self._log.agents()}
        return {self._plan.names.get(agent, agent): providers for agent, providers in files.items() if providers}

    async def _erase(self, caller: Caller) -> int:
        return sum([await self.owned.erase(agent, caller.owner) for agent in await self._log.agents()])

    def _of_run(self) -> FilesOfRun | None:
        """Return where the run that calls this keeps files; None outside of an agent's run."""
        from hosting.core.agent.agent_loop import RUN
        from hosting.features.files.provider import FilesOfRun

        held = self._held.get(RUN.get(""))
        if held is None:
            return None
        is_workflow = held.address.agent in self._workflows
        return FilesOfRun(self._stores, self.owned, held, is_workflow=is_workflow)
