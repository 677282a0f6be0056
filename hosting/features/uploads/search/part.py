"""The search in files as a part of the feature of uploads: who searches, and what follows each file.

An app without an agent that searches imports no more than this, unless a file has something in an index from before.
"""

from __future__ import annotations

import json
import os
from functools import cached_property
from typing import TYPE_CHECKING, Any

from hosting.core.clocks import purge_clock
from hosting.core.services import Services
from hosting.errors import EngineUnavailableError, InvalidFieldError
from hosting.features.uploads.records import Scope, UploadedFile
from hosting.features.uploads.search.clock import FORGET
from hosting.features.uploads.uploads import Uploads
from hosting.names import is_id
from hosting.plan import AgentPlan
from hosting.ports import ClockClient

if TYPE_CHECKING:
    from hosting.features.uploads.search.index.contract import ChunkIndex
    from hosting.features.uploads.search.index.stored import StoredChunkIndex
    from hosting.features.uploads.search.jobs import FileJobs
    from hosting.features.uploads.search.searches import FileSearches

INDEX_SETTING = "AGENT_FILE_INDEX"
_SWEPT_SECONDS = 3 * 86_400.0


class SearchPart:
    """The search of one app's files. It follows them (`lives.FollowsFiles`)."""

    def __init__(self, uploads: Uploads, services: Services, index_address: str = "") -> None:
        """`index_address` is the value of AGENT_FILE_INDEX."""
        self._uploads, self._services, self._index_address = uploads, services, index_address
        self._clocks, self._stores = services.log.clocks, services.stores
        self.is_on = False
        self.cited = set[str]()
        """The agents and workflows that search, or have agents within that do."""

    @cached_property
    def index(self) -> ChunkIndex:
        """The index in the app's own storage, or the service that the setting names."""
        if not self._index_address:
            return self.stored_index
        from hosting.features.uploads.search.index.azure_search import AzureSearchChunkIndex, search_service

        connect = search_service(INDEX_SETTING, self._index_address, os.environ)
        return AzureSearchChunkIndex(connect, self._stores.hub)

    @cached_property
    def stored_index(self) -> StoredChunkIndex:
        """The index in the app's own storage. It may have something of files also where a service is the index now.

        Raises `ChunkIndexUnavailableError` where its packages were taken out of the app, and files are in it.
        """
        from hosting.features.uploads.search.index.contract import check_index_packages

        check_index_packages()
        from hosting.features.uploads.search.index.stored import StoredChunkIndex

        return StoredChunkIndex(self._services.cells, self._stores.attachments, self._stores.hub)

    @cached_property
    def searches(self) -> FileSearches:
        """Which agents search what."""
        from hosting.features.uploads.search.searches import FileSearches

        place = self._index_address.partition(";")[0]  # without a key, which changes
        return FileSearches(self._uploads, self._clocks, lambda: (self.index, self.stored_index), place)

    @cached_property
    def jobs(self) -> FileJobs:
        """What makes files ready."""
        from hosting.features.uploads.search.jobs import FileJobs

        return FileJobs(self._uploads, self._stores, self._clocks, self._services.loop, self.searches)

    def add(self, agent: AgentPlan) -> None:
        """Connect the searches of an agent or a workflow."""
        if self.searches.attach(agent, self._services.holders.held):
            self.is_on = True
            self.cited.add(agent.name)
            self.searches.check()

    async def stored(self, scope: Scope, file: UploadedFile, client: ClockClient) -> None:
        """Begin the jobs of a file, one for each way in which agents want it."""
        if self.is_on:
            for recipe in self.searches.searching(scope):
                index = file.indexes.get(recipe)
                if index is None or index.state not in ("ready", "failed"):
                    await self.searches.begin(scope, file, recipe, client)

    async def removed(self, scope: Scope, file: UploadedFile) -> int:
        """Remove all that was made of a file, and return how many chunks were indexed."""
        return await self.jobs.forget(scope, file.id) if file.indexes else 0

    async def erased(self, scope: Scope) -> None:
        """Remove all that is left of a scope."""
        if self.is_on:
            await self.jobs.erase(scope)

    async def sweep(self) -> None:
        """Remove what no catalog of the app's own index names."""
        if self.is_on:
            now = self._clocks.wall()
            await self.stored_index.sweep(now - _SWEPT_SECONDS, now)

    async def step(self, text: str) -> str:
        """Take a step of a job, and return the next one; nothing where the job is over."""
        import msgspec

        from hosting.features.uploads.search.job_steps import JobStep

        following = await self.jobs.take(msgspec.convert(json.loads(text), JobStep))
        return "" if following is None else msgspec.json.encode(following).decode()

    async def forget_instance(self, fields: Any, client: ClockClient) -> None:
        """Remove the instance of a job that has ended. Raises `EngineUnavailableError` where it has not yet."""
        instance = fields.get("instance") if isinstance(fields, dict) else None
        if not isinstance(instance, str) or not is_id(instance):
            raise InvalidFieldError(f"The operation {FORGET!r} takes the 'instance' of a job that has ended.")
        if await purge_clock(instance, client) == "running":
            raise EngineUnavailableError(f"Instance {instance} has not ended yet.")
