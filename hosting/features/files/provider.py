"""`ThreadFiles`: stands in an agent's list for a provider of files, and has it keep them with the thread.

Theory. The framework's providers put their files into a store under the id of the session, and a new agent gets a
folder of the machine's disk for that. Hosted, the disk is one instance's, and goes with it. A provider that keeps its
files for each session gets `SessionFiles` instead, bound to the session of the very run: so parallel runs, agents that
are tools, and late attempts never see one another's. The provider's own object is not changed, and keeps its store for
an agent that is run by hand.
"""

from __future__ import annotations

import copy
import logging
from collections.abc import Callable
from typing import Any

from agent_framework import (
    AgentSession,
    ContextProvider,
    FileAccessProvider,
    FileMemoryProvider,
    FileSystemAgentFileStore,
    InMemoryAgentFileStore,
    SessionContext,
)

from hosting.core.agent.framework import agents_within
from hosting.features.files.store import RunContents, SessionFiles
from hosting.start_up import warn
from hosting.tools import idempotent

logger = logging.getLogger(__name__)

OfRun = Callable[[], RunContents | None]
FileProvider = FileMemoryProvider | FileAccessProvider

FOLDER = "session"
"""The scope of all files in a session, in place of the session's id: a fork of the thread has them under it too."""
_EDITS = "replace"
"""What the names of tools have that change a file by what it has: made again they may change it twice."""


class ThreadFiles(ContextProvider):
    """A provider of files whose files are kept with the thread of each run."""

    def __init__(self, provider: FileProvider, of_run: OfRun) -> None:
        """`of_run` returns where the calling run keeps large contents; None has the provider use its own store."""
        super().__init__(provider.source_id)
        self.provider = provider
        self.of_run = of_run
        self._is_announced = False

    async def before_run(
        self, *, agent: Any, session: AgentSession, context: SessionContext, state: dict[str, Any]
    ) -> None:
        """Give the model the provider's tools, over the files of this session."""
        contents = self.of_run()
        provider, files = self.provider, None
        if contents is not None:
            self._announce()
            files = SessionFiles(state, contents)
            provider = copy.copy(provider)
            provider.store, provider.scope = files, FOLDER
        before = len(context.tools)
        await provider.before_run(agent=agent, session=session, context=context, state=state)
        if files is not None:
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
        if not self._is_announced:
            self._is_announced = True
            store = type(self.provider.store).__name__
            logger.info("The files of %r are kept with each thread, in place of %s.", self.source_id, store)


def keep_with_thread(agent: object, name: str, of_run: OfRun) -> None:
    """Have the providers of an agent, and of those that are its tools, keep their files with the thread.

    A provider with a store that the app's author wrote stays as it is. So does one whose files are meant for many
    threads, with a warning where they lie on the disk or in memory.
    """
    for each in agents_within(agent):
        providers = getattr(each, "context_providers", None)
        if not isinstance(providers, list):
            continue
        for index, provider in enumerate(providers):
            if isinstance(provider, ThreadFiles):  # another app has the agent too: the newest one is served
                provider.of_run = of_run
            elif isinstance(provider, FileProvider) and _is_machines(provider):
                if _spans_threads(provider):
                    _warn(name, provider)
                else:
                    providers[index] = ThreadFiles(provider, of_run)


def _is_machines(provider: FileProvider) -> bool:
    """Return whether the provider's store is one of the framework's, which go with the machine or the process."""
    return type(provider.store) in (FileSystemAgentFileStore, InMemoryAgentFileStore)


def _spans_threads(provider: FileProvider) -> bool:
    return bool(provider.scope) or (isinstance(provider, FileAccessProvider) and not provider.session_scoped)


def _warn(name: str, provider: FileProvider) -> None:
    warn(
        f"Agent {name!r} shares the files of {provider.source_id!r} between all threads and owners, in a "
        f"{type(provider.store).__name__} of this machine: other instances do not see them, and they are neither "
        "exported nor erased. For files of a thread leave out scope, and give a FileAccessProvider "
        "session_scoped=True. For files of all threads give a store of your own: docs/guides/memory.md, Files."
    )
