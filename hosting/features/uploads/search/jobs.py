"""What makes a file ready for search, in steps: read its text, embed its chunks, index them.

Theory. Each step is taken by an activity of the file's own orchestration (`clock.py`). It records what it made before
it names the next step, so a step that is taken again, after a kill or by two processes at once, finds the record and
makes nothing twice: chunks are the same in every process, and a batch that has a record is never embedded again. Only
the batch whose vectors were on the way when a process was killed is embedded once more.

What an older recipe made of a file goes some time after a newer one is ready with it: processes of both may be at work
while an app is deployed, and none may take away what the other has just made.

The file's own record says how far the job is, and it changes only while the file is stored. So a step that finds no
such record, before its work or after it, takes back what the job made: a file that is deleted meanwhile leaves nothing.
A killed step comes again, and then finds it.

Each job has a number. One that began later has a greater number, and objects of its own: steps of an older one that are
still on their way find the number and end.

Each way that does not lead on has its end: a step comes again some times, and a job begins anew some times, each time
after a longer pause. Then the job has failed, and the file says why.
"""

from __future__ import annotations

import asyncio
import logging
from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import aclosing, suppress
from typing import Any, Protocol

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from hosting.core.agent.agent_loop import AgentLoop
from hosting.core.stores.stores import Stores
from hosting.errors import HostingError
from hosting.features.uploads.records import FileIndex, Scope, UploadedFile
from hosting.features.uploads.refusals import ChunkIndexUnavailableError, UnknownFileError
from hosting.features.uploads.search.chunk import Chunk
from hosting.features.uploads.search.index.contract import ChunkIndex, IndexedChunk, IndexSpace
from hosting.features.uploads.search.job_steps import JobStep, fresh, later, pause_seconds, to_tidy
from hosting.features.uploads.search.older_recipes import OlderRecipes, batches_of, space_of
from hosting.features.uploads.search.provider import FileSearch
from hosting.features.uploads.search.status import AGENT_MISSING, is_replaced
from hosting.features.uploads.search.texts.chunking import chunked
from hosting.features.uploads.search.texts.extract import extracted
from hosting.features.uploads.search.texts.limits import TextLimits, TextPiece
from hosting.features.uploads.search.texts.refusals import UnreadableFileError
from hosting.features.uploads.uploads import Uploads
from hosting.names import StoreKey
from hosting.ports import Clocks

logger = logging.getLogger(__name__)

BATCH = 64
"""Chunks that are embedded by one call of the client, at most."""
BATCH_TOKENS = 200_000
"""Of all chunks of one call, as they are estimated: models of OpenAI take 300,000."""
AT_ONCE = 4
"""So many steps of one process read or embed at a time."""
_REFUSED = "The index takes no more chunks, or not these. Delete files that are not needed, and upload this one again."
_AWAY = "The embedding client failed again and again. Search again when it works."
_CHANGING = "The embedding client answers by one model and then by another. Give it one model, and search again."
_BROKEN = "Making the file ready failed again and again. The log of the app says why. Search again when that is mended."
_TURN_SECONDS = 5.0
"""For so long a step waits for its turn; then it comes again later, each time after a longer pause."""
ENDED = ("ready", "failed")
MOST_TRIES = 30
"""Of one step: with these pauses, about twelve hours."""
MOST_RESTARTS = 6
"""Of one job: with these pauses, about a quarter of an hour."""


class EmbeddingsUnavailable(Exception):
    """The client of embeddings failed, or gave vectors that cannot be used."""


class RecordGone(Exception):
    """A record of an earlier step is not there: the file went meanwhile, or it is read once more."""


_REASONS: Mapping[type[Exception], tuple[str, str]] = {
    EmbeddingsUnavailable: ("embeddings_unavailable", _AWAY),
    ChunkIndexUnavailableError: ("not_indexed", _BROKEN),
}
"""The code and the sentence with which a job fails in the end."""


class _Vectors(Struct, frozen=True):
    """The stored vectors of a batch: numbers of four bytes, one after the other."""

    model: str
    size: int
    numbers: bytes

    def each(self) -> Iterable[Sequence[float]]:
        numbers = array("f", self.numbers)
        return (numbers[start : start + self.size] for start in range(0, len(numbers), self.size))


class Recipes(Protocol):
    """The ways in which this process's agents want files."""

    def find(self, recipe: str) -> FileSearch | None:
        """Return the provider of that recipe; None where no agent of this process has it."""

    def index_of(self, search: FileSearch) -> ChunkIndex:
        """Return where its chunks are."""

    def indexes(self) -> Sequence[ChunkIndex]:
        """Return every index that may have something of a file."""

    def searching(self, scope: Scope) -> Mapping[str, FileSearch]:
        """Return the providers that may search the files of a scope, by their recipes."""


_Next = JobStep | None


class FileJobs:
    """The steps of one app's jobs, on the loop of its log; the client of embeddings works on the agents' loop."""

    def __init__(self, uploads: Uploads, stores: Stores, clocks: Clocks, loop: AgentLoop, recipes: Recipes) -> None:
        self._uploads, self._clocks, self._agents, self._recipes = uploads, clocks, loop, recipes
        self._objects, self._hub = stores.attachments, stores.hub
        self._older = OlderRecipes(uploads, stores.attachments, stores.hub)
        self._turns = asyncio.Semaphore(AT_ONCE)
        self._steps: Mapping[str, Callable[[JobStep, FileSearch, UploadedFile], Any]] = {
            "read": self._read,
            "embed": self._embed,
            "index": self._index,
        }

    async def take(self, step: JobStep) -> _Next:
        """Take a step, and return the next one; None where the job is over."""
        file = await self._file(step)
        if file is None:
            await self._take_back(step)
            return None
        search = self._recipes.find(step.recipe)
        if step.do == "tidy":
            return await self._tidy(step, file, knows=search is not None)
        if file.indexes[step.recipe].state in ENDED:  # a process ended between this record and the next step
            await self._erase_objects(step)
            return to_tidy(step, file)
        if search is None:
            return await self._again(step, AGENT_MISSING, "No agent of the app searches files in this way any more.")
        try:
            async with asyncio.timeout(_TURN_SECONDS):
                await self._turns.acquire()
        except TimeoutError:
            return later(step)
        try:
            following: _Next = await self._steps[step.do](step, search, file)
        except UnreadableFileError as error:
            following = None
            await self._failed(step, error.code, error.sentence)
        except (EmbeddingsUnavailable, ChunkIndexUnavailableError) as error:
            following = await self._again(step, *_REASONS[type(error)])
        except RecordGone:
            following = await self._restarted(step, "not_indexed", _BROKEN, do="read", batches=0)
        except HostingError as error:  # a store that is away
            logger.warning("File %s is not indexed yet (%s).", step.file_id, error.code)
            return later(step)
        except Exception:  # a full disk, for one
            logger.exception("File %s is not indexed yet.", step.file_id)
            following = await self._again(step, "not_indexed", _BROKEN)
        finally:
            self._turns.release()
        if (after := await self._file(step)) is None:
            await self._take_back(step)
            return None
        return to_tidy(step, after) if following is None else following

    async def _tidy(self, step: JobStep, file: UploadedFile, *, knows: bool) -> _Next:
        """Remove what recipes made of the file by which nothing of this app searches it any more.

        A process that does not know the job's own recipe is of an older app, or of a newer one: it decides nothing.
        """
        if not knows:
            later = replace(step, tries=step.tries + 1, wait_seconds=pause_seconds(step.tries))
            return later if step.tries < MOST_TRIES else None
        wanted = {step.recipe, *self._recipes.searching(step.of)}
        await self._older.remove(step.of, file, wanted, self._recipes.indexes())
        return None

    async def forget(self, scope: Scope, file_id: str) -> int:
        """Remove all that jobs made of a file, and return how many chunks were indexed."""
        place = IndexSpace(scope.agent, scope.owner, scope.thread_id, scope.epoch)
        chunks = sum([await index.remove(place, file_id) for index in self._recipes.indexes()])
        if names := await self._objects.names(self._place(scope), f"{file_id}-"):
            await self._objects.erase(self._place(scope), names)
        return chunks

    async def erase(self, scope: Scope) -> int:
        """Remove all that jobs made of the files of a scope, and return how many chunks were indexed."""
        place = IndexSpace(scope.agent, scope.owner, scope.thread_id, scope.epoch)
        chunks = sum([await index.erase(place) for index in self._recipes.indexes()])
        await self._objects.erase(self._place(scope))
        return chunks

    def _place(self, scope: Scope) -> StoreKey:
        return batches_of(self._hub, scope)

    async def _file(self, step: JobStep) -> UploadedFile | None:
        """Return the file, if this is the job that makes it ready."""
        file = await stored_file(self._uploads, step.of, step.file_id)
        index = None if file is None else file.indexes.get(step.recipe)
        return file if index is not None and index.job == step.job else None

    async def _take_back(self, step: JobStep) -> None:
        """Remove what the job made: all of a file that is gone, and the objects of a job that a later one replaced.

        Of a recipe that was replaced, all that it made.
        """
        file = await stored_file(self._uploads, step.of, step.file_id)
        if file is None:
            await self.forget(step.of, step.file_id)
        elif is_replaced(file, step.recipe):
            made = FileIndex(state="failed", at=0.0, model=step.model, size=step.size)
            await self._older.forget(step.of, step.file_id, step.recipe, made, self._recipes.indexes())
        else:
            await self._erase_objects(step)

    async def _erase_objects(self, step: JobStep) -> None:
        place = self._place(step.of)
        if names := await self._objects.names(place, _name(step, "")):
            await self._objects.erase(place, names)

    async def _record(self, step: JobStep, **changed: Any) -> None:
        """Change how far the file is, in its record, if this still is the job that makes it ready."""

        def newer(file: UploadedFile) -> UploadedFile:
            index = file.indexes.get(step.recipe)
            if index is None or index.job != step.job:
                return file
            known = index.model_copy(update={"code": "", **changed})
            return file.model_copy(update={"indexes": {**file.indexes, step.recipe: known}})

        with suppress(UnknownFileError):  # the end of the step finds that too
            await self._uploads.change(step.of, step.file_id, newer)

    async def _failed(self, step: JobStep, code: str, sentence: str) -> None:
        ended = {"state": "failed", "code": code, "error": sentence, "at": self._clocks.wall()}
        await self._record(step, **ended)
        await self._erase_objects(step)

    async def _again(self, step: JobStep, code: str, sentence: str) -> _Next:
        """Have the step come again after a pause, each longer than the one before; end the job after many."""
        if step.tries >= MOST_TRIES:
            await self._failed(step, code, sentence)
            return None
        await self._record(step, code=code)
        return replace(step, tries=step.tries + 1, wait_seconds=pause_seconds(step.tries))

    async def _restarted(self, step: JobStep, code: str, sentence: str, **begins: Any) -> _Next:
        """Have the job begin anew after a pause, each longer than the one before; end it after many."""
        if step.restarts >= MOST_RESTARTS:
            await self._failed(step, code, sentence)
            return None
        anew = replace(fresh(step), restarts=step.restarts + 1, batch=0, model="", size=0, **begins)
        return replace(anew, wait_seconds=pause_seconds(step.restarts))

    async def _read(self, step: JobStep, search: FileSearch, file: UploadedFile) -> _Next:
        """Read the text, and record its chunks in batches."""
        await self._record(step, state="reading")
        parts = self._uploads.parts(step.of, file)
        async with aclosing(extracted(parts, file.name, file.media_type, TextLimits())) as reading:
            pieces = [piece async for piece in reading]
        chunks = await asyncio.to_thread(_chunks_of, pieces, search.chunk_tokens, search.overlap_tokens)
        most = batch_of(search.chunk_tokens)
        batches = [chunks[start : start + most] for start in range(0, len(chunks), most)]
        place = self._place(step.of)
        for number, batch in enumerate(batches):
            await self._objects.put(place, {_name(step, f"chunks-{number}"): msgspec.msgpack.encode(batch)})
        await self._record(step, state="embedding", chunks=len(chunks), embedded=0)
        return replace(fresh(step), do="embed" if batches else "index", batches=len(batches))

    async def _embed(self, step: JobStep, search: FileSearch, file: UploadedFile) -> _Next:
        """Embed one batch, unless its vectors are recorded."""
        place, name = self._place(step.of), _name(step, f"vectors-{step.batch}")
        stored = (await self._objects.read(place, [name])).get(name)
        if stored is None:
            vectors = await self._vectors(search, await self._chunks(step, step.batch))
            if (vectors.model, vectors.size) != (step.model or vectors.model, step.size or vectors.size):
                return await self._anew(step)  # another model answers than before: its vectors fit no others
            await self._objects.put(place, {name: msgspec.msgpack.encode(vectors)})
        else:
            vectors = msgspec.msgpack.decode(stored, type=_Vectors)
        done = step.batch + 1
        embedded = min(done * batch_of(search.chunk_tokens), file.indexes[step.recipe].chunks)
        await self._record(step, embedded=embedded)
        following = replace(fresh(step), model=vectors.model, size=vectors.size)
        return replace(following, do="index") if done >= step.batches else replace(following, batch=done)

    async def _anew(self, step: JobStep) -> _Next:
        """Begin with the first batch: those that are recorded are of a model that answers no more."""
        place = self._place(step.of)
        names = await self._objects.names(place, _name(step, "vectors-"))
        await self._objects.erase(place, names)
        return await self._restarted(step, "embeddings_unavailable", _CHANGING)

    async def _chunks(self, step: JobStep, batch: int) -> list[Chunk]:
        return msgspec.msgpack.decode(await self._object(step, f"chunks-{batch}"), type=list[Chunk])

    async def _object(self, step: JobStep, what: str) -> bytes:
        name = _name(step, what)
        objects = await self._objects.read(self._place(step.of), [name])
        if name not in objects:
            raise RecordGone(name)
        return objects[name]

    async def _vectors(self, search: FileSearch, chunks: Sequence[Chunk]) -> _Vectors:
        try:
            embedded = await self._agents.run(search.embedder.embedded([chunk.text for chunk in chunks]))
            models = {(model, len(vector)) for model, vector in embedded}
            [(model, size)] = models
            return _Vectors(model, size, array("f", (number for _, each in embedded for number in each)).tobytes())
        except Exception as error:  # the client is the app's, and may raise anything
            logger.warning("The embedding client failed (%s). The batch is tried again.", type(error).__name__)
            raise EmbeddingsUnavailable from error

    async def _index(self, step: JobStep, search: FileSearch, file: UploadedFile) -> None:
        """Index the chunks with their vectors, and let go of the batches."""
        index = self._recipes.index_of(search)
        indexed: list[IndexedChunk] = []
        for number in range(step.batches):
            vectors = msgspec.msgpack.decode(await self._object(step, f"vectors-{number}"), type=_Vectors)
            chunks = await self._chunks(step, number)
            indexed += [IndexedChunk(chunk, vector) for chunk, vector in zip(chunks, vectors.each(), strict=True)]
        known = file.indexes[step.recipe]
        space = space_of(step.of, step.recipe, step.model, step.size)
        try:
            if indexed:
                await index.add(space, step.file_id, indexed)
        except ValueError as error:  # the index is full, or takes no such vectors
            logger.warning("File %s is refused by the index (%s).", step.file_id, type(error).__name__)
            await self._failed(step, "index_refused", _REFUSED)
            return
        if known.model and (known.model, known.size) != (step.model, step.size):
            await index.remove(space_of(step.of, step.recipe, known.model, known.size), step.file_id)
        ready = {"state": "ready", "model": step.model, "size": step.size, "code": "", "error": ""}
        await self._record(step, **ready, at=self._clocks.wall())
        await self._erase_objects(step)


async def stored_file(uploads: Uploads, scope: Scope, file_id: str) -> UploadedFile | None:
    """Return a file that is stored; None where there is none any more."""
    try:
        return await uploads.read(scope, file_id)
    except UnknownFileError:
        return None


def _chunks_of(pieces: Iterable[TextPiece], chunk_tokens: int, overlap_tokens: int) -> list[Chunk]:
    return list(chunked(pieces, chunk_tokens, overlap_tokens))


def batch_of(chunk_tokens: int) -> int:
    """Return how many chunks of that size are embedded by one call of the client."""
    return max(1, min(BATCH, BATCH_TOKENS // chunk_tokens))


def _name(step: JobStep, what: str) -> str:
    return f"{step.file_id}-{step.recipe}-{step.job}-{what}"
