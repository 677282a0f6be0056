"""The files that people upload: their routes, and what is kept of owners and threads."""

from __future__ import annotations

import sys
from collections.abc import AsyncGenerator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import Field

from hosting.core.hooks import NO_HOOKS, AgentHooks, ThreadData
from hosting.core.services import Services
from hosting.errors import HostingError
from hosting.feature import Activity, EntityOperation, Feature, Orchestration, OwnerData, Upkeep
from hosting.features.uploads.refusals import REFUSALS
from hosting.features.uploads.routes import ROUTES, ShownFile
from hosting.features.uploads.search.clock import FORGET, JOB, STEP, index_file
from hosting.http.replies import Reply, Streamed
from hosting.http.request import Bound, HttpRequest, late
from hosting.http.route import Route
from hosting.names import Address
from hosting.outside import HOST
from hosting.plan import AgentPlan
from hosting.ports import ClockClient, KeptContent
from hosting.principal import Caller
from hosting.settings import SettingsPart

if TYPE_CHECKING:
    from hosting.features.uploads.openai import OpenAiFiles
    from hosting.features.uploads.search.part import SearchPart
    from hosting.features.uploads.uploads import Uploads

CONTENTS = "uploaded_contents"
"""The member of an export that has the bytes of files."""
_RECORD = "upload-"
_FOR_EVER = 1e11
_SEARCH = "hosting.features.uploads.search.provider"
"""The module of `FileSearch`: an agent that has one has imported it."""


class UploadSettings(SettingsPart):
    """The settings of uploads."""

    file_bytes: int = Field(536_870_912, ge=1024, le=1_000_000_000_000)
    """The largest file that is uploaded."""

    files_quota_bytes: int = Field(10_737_418_240, ge=1024, le=1_000_000_000_000_000)
    """The most bytes of all files of an owner, or of an agent's own."""

    file_hosts: str = Field("", pattern=rf"^\s*(\*|{HOST})(\s*,\s*(\*|{HOST}))*\s*$")
    """Hosts, with commas, that the app fetches files from; `*` is any host outside of its network. Empty: none."""

    file_index: str = Field(
        "", repr=False, max_length=2048, pattern=r"^(https://[^\s;/]+/?(;key=\S+)?|http://[^\s;/]+/?;key=\S+)$"
    )
    """Where files are searched: an address of Azure AI Search; empty: in the app's own storage."""


class UploadsFeature(Feature):
    """The uploaded files of one app."""

    name = "uploads"
    page = Path(__file__).with_name("ui")
    settings = UploadSettings
    links: ClassVar[Mapping[str, str]] = {"files_url": "files"}

    def __init__(self, services: Services, own_settings: UploadSettings) -> None:
        self._services = services
        self._log, self._stores, self._settings = services.log, services.stores, services.settings
        self._own = own_settings
        self._workflows = set[str]()

    @classmethod
    def errors(cls) -> Sequence[type[HostingError]]:
        """Return its refusals."""
        return REFUSALS

    @cached_property
    def uploads(self) -> Uploads:
        """The files, which the search follows."""
        return self._parts[0]

    @cached_property
    def search(self) -> SearchPart:
        """The search in the files."""
        return self._parts[1]

    @cached_property
    def _parts(self) -> tuple[Uploads, SearchPart]:
        from hosting.features.uploads.search.part import SearchPart
        from hosting.features.uploads.uploads import Uploads

        services, own = self._services, self._own
        most = {"most_bytes": own.file_bytes, "quota_bytes": own.files_quota_bytes}
        uploads = Uploads(services.cells, services.stores, services.log, **most)
        search = SearchPart(uploads, services, own.file_index)
        uploads.follow(search)
        return uploads, search

    async def begin(
        self, origin: tuple[Address, int], target: tuple[Address, int], source: str, before: float | None = None
    ) -> None:
        """Take note of a thread's files that go along into another thread (`feature.CarriesFiles`)."""
        from hosting.features.uploads.records import Scope

        await self.uploads.carrying.begin(Scope.of_thread(*origin), Scope.of_thread(*target), source, before)

    async def finish(self, target: tuple[Address, int], source: str, client: ClockClient) -> None:
        """Bring them."""
        from hosting.features.uploads.records import Scope

        await self.uploads.carrying.finish(Scope.of_thread(*target), source, client)

    async def give_up(self, target: tuple[Address, int], source: str) -> None:
        """Forget them."""
        from hosting.features.uploads.records import Scope

        await self.uploads.carrying.give_up(Scope.of_thread(*target), source)

    def add(self, agent: AgentPlan) -> None:
        """Connect an agent's search in files, or those of a workflow's agents."""
        if agent.kind == "workflow":
            self._workflows.add(agent.name.lower())
        if _SEARCH in sys.modules:
            self.search.add(agent)

    def hooks(self, agent: AgentPlan) -> AgentHooks:
        """Return what has an answer cite the passages whose marks it has."""
        if _SEARCH not in sys.modules or agent.name not in self.search.cited:
            return NO_HOOKS
        from hosting.features.uploads.search.answers import cite

        return AgentHooks(on_answer=cite)

    def durable(self) -> Sequence[Orchestration | Activity | EntityOperation]:
        """Return the job that makes a file ready for search, and what removes its instance."""
        return Orchestration(JOB, index_file), Activity(STEP, self._step), EntityOperation(FORGET, self._forget)

    @cached_property
    def _openai(self) -> OpenAiFiles:
        from hosting.features.uploads.openai import OpenAiFiles

        return OpenAiFiles(self.uploads, self._settings)

    def operations(self) -> Sequence[Route]:
        """Return the operations of OpenAI's files (`verbs.KeepsFiles`)."""
        from hosting.features.uploads.openai_routes import OPERATIONS

        return OPERATIONS

    async def reply(self, request: HttpRequest, path: str) -> Reply | Streamed:
        """Return the answer of such an operation."""
        return await self._openai.reply(request, path)

    async def inlined(self, request: HttpRequest) -> HttpRequest:
        """Return a request with the contents of the files that it names."""
        return await self._openai.inlined(request)

    def has(self, agent: AgentPlan) -> bool:
        """Return whether it has files of its own: of a workflow its threads have some."""
        return agent.kind == "agent"

    def routes(self) -> Sequence[Bound]:
        """Return the routes of files."""
        return late(ROUTES, self._bound)

    def upkeep(self) -> Sequence[Upkeep]:
        """Return the look for what processes left that died."""
        return (_LateUpkeep(self),)

    def owner_data(self) -> OwnerData:
        """Return an owner's files, and those of their threads, by agents: "" for those with every agent."""
        contents = {CONTENTS: self._owner_contents}
        return OwnerData(
            "uploads", dict[str, list[ShownFile]], self._export, self._erase, counted=True, contents=contents
        )

    def thread_data(self) -> ThreadData:
        """Return the files of a thread."""
        return ThreadData(
            prefixes=(_RECORD,),
            keeps_seconds=_FOR_EVER,
            members={"uploads": list[ShownFile]},
            export=self._export_thread,
            counts={"uploads": _RECORD},
            erase=self._erase_thread,
            clocks=self._clocks,
            clock_prefix="upload!",
            contents={CONTENTS: self._thread_contents},
        )

    def _bound(self) -> Sequence[Bound]:
        from hosting.features.uploads.fetching import Fetching
        from hosting.features.uploads.http import FileHandlers

        fetching = Fetching(self._own.file_hosts, self._own.file_bytes)
        return FileHandlers(self.uploads, self._log, self._settings.max_body_bytes, fetching).bound()

    async def _step(self, text: str, client: ClockClient) -> str:
        return await self.search.step(text)

    async def _forget(self, fields: Any, client: ClockClient) -> None:
        await self.search.forget_instance(fields, client)

    async def _agents(self) -> list[str]:
        return ["", *await self._log.agents()]

    async def _export(self, caller: Caller) -> dict[str, list[ShownFile]]:
        from hosting.features.uploads.http import shown_file, url_of

        exported = dict[str, list[ShownFile]]()
        for agent in await self._agents():
            files = [
                shown_file(url_of(scope, self._workflows), file)
                for scope, file in await self.uploads.of_owner(agent, caller.owner)
                if bool(scope.thread_id) == bool(agent)
            ]
            if files:
                exported[agent] = files
        return exported

    async def _erase(self, caller: Caller) -> int:
        return sum([(await self.uploads.erase_owner(agent, caller.owner)).files for agent in await self._agents()])

    async def _owner_contents(self, caller: Caller) -> AsyncGenerator[KeptContent, None]:
        from hosting.features.uploads.records import Scope

        async for content in self.uploads.stored_contents(Scope(owner=caller.owner)):
            yield content

    async def _thread_contents(self, address: Address, epoch: int) -> AsyncGenerator[KeptContent, None]:
        from hosting.features.uploads.records import Scope

        async for content in self.uploads.stored_contents(Scope.of_thread(address, epoch)):
            yield content

    async def _export_thread(self, address: Address, epoch: int) -> Mapping[str, Any]:
        from hosting.features.uploads.http import shown_file, url_of
        from hosting.features.uploads.records import Scope

        scope = Scope.of_thread(address, epoch)
        return {
            "uploads": [shown_file(url_of(scope, self._workflows), file) for file in await self.uploads.files(scope)]
        }

    async def _erase_thread(self, address: Address, epoch: int) -> None:
        from hosting.features.uploads.records import Scope

        await self.uploads.erase(Scope.of_thread(address, epoch), keeps_records=True)

    async def _clocks(self, address: Address, epoch: int) -> Sequence[str]:
        return ()


class _LateUpkeep:
    """The upkeep, whose modules are imported when it is time."""

    def __init__(self, feature: UploadsFeature) -> None:
        self._feature = feature

    async def run(self, client: ClockClient) -> object:
        from hosting.features.uploads.upkeep import FilesUpkeep

        feature = self._feature
        left = await FilesUpkeep(feature.uploads, feature._stores, feature._log.clocks).run(client)
        await feature.search.sweep()
        return left
