"""`HostedFiles`: stands in an agent's list for a provider of files, and has it keep them in the app's stores.

Theory. The framework's providers put their files into a store under the id of the session, and a new agent gets a
folder of the machine's disk for that. Hosted, the disk is one instance's, and goes with it. A provider that keeps its
files for each session gets `SessionFiles` instead, bound to the session of the very run: so parallel runs, agents that
are tools, and late attempts never see one another's. A provider that shares its files between threads gets
`OwnerFiles`: it shares them between all threads that an owner has with the agent. The provider's own object is not
changed, and keeps its store for an agent that is run by hand.
"""

from __future__ import annotations

import copy
import logging
from collections.abc import Callable, Iterable
from typing import Any

from agent_framework import (
    AgentFileStore,
    AgentSession,
    ContextProvider,
    FileAccessProvider,
    FileMemoryProvider,
    FileSystemAgentFileStore,
    InMemoryAgentFileStore,
    SessionContext,
)
from msgspec import Struct

from hosting.core.agent.framework import agents_within
from hosting.core.agent.held_run import HeldRun
from hosting.core.stores.stores import Stores
from hosting.features.files.owned import OwnedFiles
from hosting.features.files.shared import OwnerFiles
from hosting.features.files.store import RunContents, SessionFiles
from hosting.tools import idempotent

logger = logging.getLogger(__name__)

FileProvider = FileMemoryProvider | FileAccessProvider

FOLDER = "session"
"""The scope of all files in a session, in place of the session's id: a fork of the thread has them under it too."""
_EDITS = "replace"
"""What the names of tools have that change a file by what it has: made again they may change it twice."""


class FilesOfRun(Struct, frozen=True):
    """Where one run keeps files: with its thread, or with the thread's owner.

    In a workflow the sessions of agents are part of its checkpoints, where nothing looks for the attachments that they
    refer to.
    """

    stores: Stores
    owned: OwnedFiles
    held: HeldRun
    is_workflow: bool

    def files(self, shelf: str | None, state: dict[str, Any], own: AgentFileStore) -> SessionFiles | OwnerFiles | None:
        """Return the files of a shelf, over the provider's `own`; without one those of the session with this `state`.

        None for somebody with whom the thread is shared: a shelf has the owner's files of all threads.
        """
        if shelf is None:
            return SessionFiles(state, None if self.is_workflow else RunContents(self.stores, self.held))
        principal = self.held.run.accepted.principal
        if principal is not None and principal.owner != self.held.address.owner:
            return None
        return OwnerFiles(self.owned, self.held, shelf, own)


OfRun = Callable[[], FilesOfRun | None]


class HostedFiles(ContextProvider):
    """A provider of files whose files are kept with the thread of each run; those of a `shelf` with its owner."""

    def __init__(
        self, provider: FileProvider, of_run: OfRun, shelf: str | None = None, announced: set[str] | None = None
    ) -> None:
        """`of_run` returns where the calling run keeps files; None has the provider use its own store.

        `announced` are those of which the log says where their files are: each attempt of a workflow may have new ones.
        """
        super().__init__(provider.source_id)
        self.provider = provider
        self.of_run = of_run
        self.shelf = shelf
        self._announced = set[str]() if announced is None else announced

    async def before_run(
        self, *, agent: Any, session: AgentSession, context: SessionContext, state: dict[str, Any]
    ) -> None:
        """Give the model the provider's tools, over the files of this session or owner."""
        of_run = self.of_run()
        if of_run is None:
            await self.provider.before_run(agent=agent, session=session, context=context, state=state)
            return
        self._announce()
        files = of_run.files(self.shelf, state, self.provider.store)
        if files is None:
            return
        provider = copy.copy(self.provider)
        provider.store = files
        if self.shelf is None:
            provider.scope = FOLDER
        before = len(context.tools)
        await provider.before_run(agent=agent, session=session, context=context, state=state)
        files.has_begun = True
        for tool in context.tools[before:]:
            if _EDITS not in tool.name:
                idempotent(tool)

    async def after_run(
        self, *, agent: Any, session: AgentSession, context: SessionContext, state: dict[str, Any]
    ) -> None:
        """Have the provider do what it does after a run."""
        await self.provider.after_run(agent=agent, session=session, context=context, state=state)

    def _announce(self) -> None:
        """Log once where the files are; in a run, because Azure drops what is logged at a start."""
        name = f"{self.source_id} {self.shelf}"
        if name not in self._announced:
            self._announced.add(name)
            store = type(self.provider.store).__name__
            if self.shelf is None:
                logger.info("The files of %r are kept with each thread, in place of %s.", self.source_id, store)
            else:
                logger.info("The files of %r are kept for each owner, over those of %s.", self.source_id, store)


def keep_files(agents: Iterable[object], of_run: OfRun, announced: set[str]) -> None:
    """Have the providers of these agents, and of those that are their tools, keep their files in the app's stores.

    A provider with a store that the app's author wrote stays as it is.
    """
    shelves: list[tuple[str, AgentFileStore]] = []
    lists = [getattr(each, "context_providers", None) for agent in agents for each in agents_within(agent)]
    for providers in lists:
        if not isinstance(providers, list):
            continue
        for index, provider in enumerate(providers):
            if isinstance(provider, HostedFiles):  # another app has the agent too: the newest one is served
                provider.of_run = of_run
                if provider.shelf is not None:
                    shelves.append((provider.shelf, provider.provider.store))
            elif isinstance(provider, FileProvider) and _is_machines(provider):
                shelf = _shelf(provider, shelves) if _spans_threads(provider) else None
                providers[index] = HostedFiles(provider, of_run, shelf, announced)


def _is_machines(provider: FileProvider) -> bool:
    """Return whether the provider's store is one of the framework's, which go with the machine or the process."""
    return type(provider.store) in (FileSystemAgentFileStore, InMemoryAgentFileStore)


def _spans_threads(provider: FileProvider) -> bool:
    return bool(provider.scope) or (isinstance(provider, FileAccessProvider) and not provider.session_scoped)


def _shelf(provider: FileProvider, shelves: list[tuple[str, AgentFileStore]]) -> str:
    """Return the name of the provider's files among those of the agent: providers of one store share them.

    It is stored, so it is made of what stays: the provider's id, and its place among those of this id.
    """
    for name, store in shelves:
        if store is provider.store or _root(store) == _root(provider.store) is not None:
            return name
    taken = {name for name, _ in shelves}
    names = (f"{provider.source_id}{number}" for number in ("", *range(2, len(taken) + 2)))
    shelf = next(name for name in names if name not in taken)
    shelves.append((shelf, provider.store))
    return shelf


def _root(store: AgentFileStore) -> object:
    return getattr(store, "root_path", None)
