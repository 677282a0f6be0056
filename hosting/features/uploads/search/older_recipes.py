"""What an older recipe made of a file: its vectors, its chunks and its place in the file's record, and how they go.

Theory. The record says first that the recipe is replaced, under a later job's number: so a job of that recipe which is
still at work finds out at the end of its step, and takes back what it has just made. Then the vectors go, and the
record's entry at last. Whoever dies on the way, the same step comes again and finds the entry.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import suppress
from functools import partial

from hosting.features.uploads.records import FileIndex, Scope, UploadedFile
from hosting.features.uploads.refusals import UnknownFileError
from hosting.features.uploads.search.index.contract import ChunkIndex, IndexSpace
from hosting.features.uploads.search.status import REPLACED
from hosting.features.uploads.uploads import Uploads
from hosting.names import StoreKey, store_space
from hosting.ports import ObjectStore


class OlderRecipes:
    """The removal of what older recipes made, in one app whose batches of files are objects of these."""

    def __init__(self, uploads: Uploads, objects: ObjectStore, hub: str) -> None:
        self._uploads, self._objects, self._hub = uploads, objects, hub

    async def remove(
        self, scope: Scope, file: UploadedFile, wanted: Collection[str], indexes: Sequence[ChunkIndex]
    ) -> None:
        """Remove all of the file that is by no `wanted` recipe."""
        for recipe in sorted(file.indexes.keys() - wanted):
            with suppress(UnknownFileError):  # the removal of the file removes more
                marked = await self._uploads.change(scope, file.id, partial(_replaced, recipe=recipe))
                if recipe in marked.indexes:
                    await self.forget(scope, file.id, recipe, marked.indexes[recipe], indexes)
                    await self._uploads.change(scope, file.id, partial(_without, recipe=recipe))

    async def forget(
        self, scope: Scope, file_id: str, recipe: str, known: FileIndex, indexes: Sequence[ChunkIndex]
    ) -> None:
        """Remove the vectors of a recipe, and the batches of its jobs."""
        for index in indexes if known.model else ():
            await index.remove(space_of(scope, recipe, known.model, known.size), file_id)
        place = batches_of(self._hub, scope)
        if names := await self._objects.names(place, f"{file_id}-{recipe}-"):
            await self._objects.erase(place, names)


def space_of(scope: Scope, recipe: str, model: str, size: int) -> IndexSpace:
    """Return where the chunks of files of a scope are, made by a recipe and embedded by a model."""
    return IndexSpace(scope.agent, scope.owner, scope.thread_id, scope.epoch, f"{model} {recipe}", size)


def batches_of(hub: str, scope: Scope) -> StoreKey:
    """Return where the batches of jobs are."""
    return StoreKey(store_space(hub, "file-search"), scope.cell("index").address.key)


def _replaced(file: UploadedFile, recipe: str) -> UploadedFile:
    known = file.indexes.get(recipe)
    if known is None or known.code == REPLACED:
        return file
    marked = known.model_copy(update={"state": "failed", "code": REPLACED, "job": known.job + 1})
    return file.model_copy(update={"indexes": {**file.indexes, recipe: marked}})


def _without(file: UploadedFile, recipe: str) -> UploadedFile:
    indexes = {name: index for name, index in file.indexes.items() if name != recipe or index.code != REPLACED}
    return file.model_copy(update={"indexes": indexes})
