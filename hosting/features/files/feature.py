"""The files that agents keep by agent-framework's providers of files: with the thread, and not on the machine's disk.

What the feature keeps stands in the thread's session state and among its attachments. So it has no data of its own: an
export, an erasure, a fork and a deletion of the thread have the files too.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING

from hosting.core.agent.held_run import HeldRun
from hosting.core.stores.stores import Stores
from hosting.feature import Feature
from hosting.plan import AgentPlan

if TYPE_CHECKING:
    from hosting.features.files.store import RunContents

_PROVIDERS = "agent_framework._harness._file_access"
"""The module of the framework's file stores: an agent that has a provider of files has imported it."""


class FilesFeature(Feature):
    """The files of one app's agents; an agent has some by a `FileMemoryProvider` or a `FileAccessProvider`."""

    name = "files"

    def __init__(self, stores: Stores, held: Mapping[str, HeldRun]) -> None:
        """`held` are the runs of this process."""
        self._stores = stores
        self._held = held
        self._workflows: set[str] = set()

    def add(self, agent: AgentPlan) -> None:
        """Have an agent's providers keep their files with the thread. Those of a workflow's agents stay as they are."""
        if agent.workflow is not None:
            self._workflows.add(agent.name.lower())
        elif _PROVIDERS in sys.modules:
            from hosting.features.files.provider import keep_with_thread

            keep_with_thread(agent.agent, agent.name, self._of_run)

    def _of_run(self) -> RunContents | None:
        """Return where the run that calls this keeps large contents; None outside of an agent's run."""
        from hosting.core.agent.agent_loop import RUN
        from hosting.features.files.store import RunContents

        held = self._held.get(RUN.get(""))
        if held is None or held.address.agent in self._workflows:
            return None
        return RunContents(self._stores, held)
