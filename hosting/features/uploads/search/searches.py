"""`FileSearches`: which agents search which files, what is made ready for them, and what they find.

Theory. A recipe is how an agent wants files: by which model, in chunks of which size, in which index. The record of a
file says for each recipe how far it is. So a file that is stored gets a job for each recipe of the agents that may
search it. What was missed comes later: a search looks at the records of its files now and then, and begins the jobs of
those that have none, that failed because the client of embeddings was away, or that another model embedded.

A search reads the record of each file whose chunks it found. So a deleted file is in no result from the moment on that
its record says so, however long its chunks are still in the index.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial

import msgspec
from msgspec import Struct

from hosting.core.agent.agent_loop import RUN
from hosting.core.agent.framework import agents_within
from hosting.core.agent.held_run import HeldRun
from hosting.core.recent import Recent
from hosting.errors import HostingError
from hosting.features.uploads.records import FileIndex, Scope, UploadedFile
from hosting.features.uploads.search.clock import JOB
from hosting.features.uploads.search.index.contract import ChunkIndex, ChunkQuery, FoundChunk
from hosting.features.uploads.search.index.given import GivenIndex
from hosting.features.uploads.search.job_steps import JobStep
from hosting.features.uploads.search.jobs import ENDED, stored_file
from hosting.features.uploads.search.older_recipes import space_of
from hosting.features.uploads.search.provider import (
    CHARACTERS_OF_TOKEN,
    FileSearch,
    Findings,
    Passage,
    Question,
    UnknownNameError,
)
from hosting.features.uploads.search.status import AGENT_MISSING
from hosting.features.uploads.uploads import Uploads
from hosting.plan import AgentPlan
from hosting.ports import Clocks, OrchestrationClient
from hosting.tools import ENGINE, begin_orchestration

LOOK_SECONDS = 300.0
"""So often a process looks for files of a scope that have no job: each look reads all their records."""
AGAIN_SECONDS = 3600.0
"""After this a file whose embedding failed, or whose job gives no sign of life, is begun again."""
_MORE = 2
"""So many times as many chunks are found as fit, because files may be gone."""
_AWAY = frozenset({"embeddings_unavailable", "not_indexed", AGENT_MISSING})
_LISTED = 20
_LOOK_BYTES = 512
_LOOKS_BYTES = 1024 * 1024


class _Look(Struct, frozen=True):
    """What a look at the files of a scope found, at a moment of `Clocks.awake`."""

    at: float
    waiting: int
    failed: int


class FileSearches:
    """The searches of one app, on the loop of its log.

    `own` returns the app's indexes, first the one that is searched, and `place` names where that is.
    """

    def __init__(self, uploads: Uploads, clocks: Clocks, own: Callable[[], Sequence[ChunkIndex]], place: str) -> None:
        self._uploads, self._clocks, self._own, self._place = uploads, clocks, own, place
        self._given: dict[int, ChunkIndex] = {}
        self._of_agents: defaultdict[str, list[FileSearch]] = defaultdict(list)
        self._providers: dict[FileSearch, None] = {}
        self._hosted: dict[str, object] = {}
        self._parents: dict[str, str] = {}
        self._looks: Recent[tuple[Scope, str, str, int], _Look] = Recent(_LOOKS_BYTES)

    def attach(self, planned: AgentPlan, held: Mapping[str, HeldRun]) -> bool:
        """Connect the searches of an agent or a workflow, and of the agents in it; return whether it has any.

        `held` are the runs of this process.
        """
        name, parent = planned.name.lower(), planned.options.within.lower()
        agents = [planned.agent]
        if planned.workflow is None:
            self._hosted[name] = planned.agent
        else:  # it may make agents anew for each attempt of a run
            agents = [*planned.workflow.agents()]
            planned.workflow.prepare.append(partial(self._connect, held=held))
        if parent:
            self._parents[name] = parent
        within = self._connect(agents, held)
        self._providers |= dict.fromkeys(within)
        self._of_agents[parent or name] += within
        return bool(within)

    def _connect(self, agents: Sequence[object], held: Mapping[str, HeldRun]) -> list[FileSearch]:
        within = [provider for agent in agents for each in agents_within(agent) for provider in _searches_of(each)]
        for provider in within:
            provider.attach(partial(self._of_run, held, provider), self._place)
        return within

    def _of_run(self, runs: Mapping[str, HeldRun], provider: FileSearch, agent: object) -> _HeldFiles | None:
        held = runs.get(RUN.get(""))
        return None if held is None else _HeldFiles(self, held, provider, self._own_name(provider, agent))

    def _own_name(self, provider: FileSearch, agent: object) -> str:
        """Return the name under which the app has an agent, or the one that a workflow has copied; else nothing."""
        called = getattr(agent, "name", None)
        same = (name for name, hosted in self._hosted.items() if hosted is agent)
        copied = (
            name
            for name, hosted in self._hosted.items()
            if provider in _searches_of(hosted) and getattr(hosted, "name", None) == called
        )
        return next(same, next(copied, ""))

    def scopes_of(self, held: HeldRun, searcher: str = "") -> list[Scope]:
        """Return where the files of a run are: its thread's, its agent's, and its owner's if that began it.

        Besides, those of the agent that searches, where the app has that under a name of its own.
        """
        address, principal = held.address, held.run.accepted.principal
        agents = dict.fromkeys((self._parents.get(address.agent, address.agent), self._parents.get(searcher, searcher)))
        scopes = [Scope.of_thread(address, held.run.epoch), *(Scope(agent) for agent in agents if agent)]
        is_of_owner = principal is None or principal.owner == address.owner
        return [*scopes, Scope(owner=address.owner)] if is_of_owner else scopes

    # What jobs ask (`jobs.Recipes`)

    def find(self, recipe: str) -> FileSearch | None:
        """Return the provider of that recipe; None where no agent of this process has it."""
        return next((provider for provider in self._providers if provider.recipe == recipe), None)

    def index_of(self, search: FileSearch) -> ChunkIndex:
        """Return where its chunks are."""
        if search.index is None:
            return self._own()[0]
        return self._given.setdefault(id(search.index), GivenIndex(search.index))

    def check(self) -> None:
        """Raise `ConfigurationError` for a setting that names no index."""
        self.indexes()

    def indexes(self) -> Sequence[ChunkIndex]:
        """Return every index that may have something of a file: the app's own, and those that agents were given."""
        given = [self.index_of(provider) for provider in self._providers if provider.index is not None]
        return [*dict.fromkeys((*self._own(), *given))]

    def searching(self, scope: Scope) -> dict[str, FileSearch]:
        """Return the providers that may search the files of a scope, by their recipes: of an owner's files, all."""
        providers = self._of_agents[scope.agent] if scope.agent else [*self._providers]
        return {provider.recipe: provider for provider in providers}

    async def begin(self, scope: Scope, file: UploadedFile, recipe: str, client: OrchestrationClient) -> None:
        """Begin the job that makes a file ready, once; one whose job has ended is begun anew by a newer job.

        Raises `EngineUnavailableError`, and what `Uploads.change` raises.
        """
        known = file.indexes.get(recipe)
        if known is not None and known.state not in ENDED:
            status = await client.status(_instance(scope, file.id, recipe, known.job))
            if status is None:
                return await self._start(scope, file.id, recipe, known.job, client)
            if not status.is_over:
                return None

        def queued(file: UploadedFile) -> UploadedFile:
            if file.indexes.get(recipe) != known:
                return file  # another process began it
            job, model, size = (1, "", 0) if known is None else (known.job + 1, known.model, known.size)
            index = FileIndex(state="queued", job=job, at=self._clocks.wall(), model=model, size=size)
            return file.model_copy(update={"indexes": {**file.indexes, recipe: index}})

        newer = await self._uploads.change(scope, file.id, queued)
        await self._start(scope, file.id, recipe, newer.indexes[recipe].job, client)
        return None

    async def _start(self, scope: Scope, file_id: str, recipe: str, job: int, client: OrchestrationClient) -> None:
        instance = _instance(scope, file_id, recipe, job)
        if await client.status(instance) is None:
            step = JobStep(instance, (scope.agent, scope.owner, scope.thread_id, scope.epoch), file_id, recipe, job)
            await begin_orchestration(client, JOB, instance, msgspec.to_builtins(step))

    async def search(self, provider: FileSearch, scopes: Sequence[Scope], question: Question) -> Findings:
        """Return what `RunFiles.search` says, of the files of these scopes."""
        vector = question.vector
        waiting, failed = await self._look(scopes, provider.recipe, question.model, len(vector))
        file_ids = await self._named(scopes, question.files) if question.files else None
        most = _MORE * max(1, question.most_tokens // provider.chunk_tokens)
        spaces = [space_of(scope, provider.recipe, question.model, len(vector)) for scope in scopes]
        query = ChunkQuery(vector, question.query, most, file_ids)
        chunks = await self.index_of(provider).search(spaces, query)
        return Findings(await self._passages(scopes, chunks, question.most_tokens), waiting, failed)

    async def _passages(self, scopes: Sequence[Scope], chunks: Iterable[FoundChunk], most_tokens: int) -> list[Passage]:
        """Return as many chunks as fit, without those of files that are gone."""
        known: dict[str, UploadedFile | None] = {}
        passages: list[Passage] = []
        left = most_tokens * CHARACTERS_OF_TOKEN
        for hit in chunks:
            if hit.file_id not in known:
                known[hit.file_id] = await self._file(scopes, hit.file_id)
            file = known[hit.file_id]
            if file is None:
                continue
            left -= len(hit.chunk.text)
            if left < 0 and passages:
                break
            passages.append(Passage(file.id, file.name, hit.chunk, hit.score))
        return passages

    async def _file(self, scopes: Iterable[Scope], file_id: str) -> UploadedFile | None:
        for scope in scopes:
            if (file := await stored_file(self._uploads, scope, file_id)) is not None:
                return file
        return None

    async def _named(self, scopes: Iterable[Scope], names: Sequence[str]) -> frozenset[str]:
        """Return the ids of the files with these names or ids. Raises `UnknownNameError` for one that is not there."""
        files = [file for scope in scopes for file in await self._uploads.files(scope)]
        ids = {name: {file.id for file in files if name in (file.id, file.name)} for name in names}
        if missing := [name for name, same in ids.items() if not same]:
            raise UnknownNameError(missing[0], [file.name for file in files[:_LISTED]])
        return frozenset[str]().union(*ids.values())

    async def _look(self, scopes: Iterable[Scope], recipe: str, model: str, size: int) -> tuple[int, int]:
        """Begin the jobs of files that have none. Return how many files are being read, and how many have failed.

        Where no file was being read at the last look, the next one comes after a while.
        """
        waiting, failed = 0, 0
        for scope in scopes:
            now = self._clocks.awake()
            key = (scope, recipe, model, size)
            last = self._looks.get(key)
            if last is None or now - last.at >= LOOK_SECONDS:
                last = await self._looked(scope, recipe, model, size)
                if not last.waiting:
                    self._looks.keep(key, last, _LOOK_BYTES)
            waiting, failed = waiting + last.waiting, failed + last.failed
        return waiting, failed

    async def _looked(self, scope: Scope, recipe: str, model: str, size: int) -> _Look:
        at, engine = self._clocks.awake(), ENGINE.get(None)
        waiting, failed = 0, 0
        for file in await self._uploads.files(scope):
            index = file.indexes.get(recipe)
            if self._is_due(index, model, size):
                waiting += 1
                if engine is not None:
                    with suppress(HostingError):  # the file is gone, or the engine is away: the next look begins it
                        await self.begin(scope, file, recipe, engine.client)
            elif index is not None:
                waiting += index.state not in ENDED
                failed += index.state == "failed"
        return _Look(at, waiting, failed)

    def _is_due(self, index: FileIndex | None, model: str, size: int) -> bool:
        if index is None:
            return True
        if index.state == "ready":
            return bool(index.chunks) and (index.model, index.size) != (model, size)
        is_old = self._clocks.wall() - index.at >= AGAIN_SECONDS
        return is_old and (index.state != "failed" or index.code in _AWAY)


class _HeldFiles(Struct, frozen=True):
    """The files of a run that this process holds, whose agent runs on another loop than the stores."""

    searches: FileSearches
    held: HeldRun
    provider: FileSearch
    searcher: str

    async def search(self, question: Question) -> Findings:
        scopes = self.searches.scopes_of(self.held, self.searcher)
        return await self.held.on_loop(self.searches.search(self.provider, scopes, question))


def _searches_of(agent: object) -> list[FileSearch]:
    return [one for one in getattr(agent, "context_providers", None) or () if isinstance(one, FileSearch)]


def _instance(scope: Scope, file_id: str, recipe: str, job: int) -> str:
    identity = f"{scope.text.decode()}\n{file_id}\n{recipe}\n{job}"
    return hashlib.sha256(identity.encode()).hexdigest()[:32]
