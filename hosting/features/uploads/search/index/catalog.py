"""The catalog of one scope: which segments there are, and which are about to come. It is pure.

Theory. A segment is there once the catalog names it, and all changes of a catalog are compared with the one that was
read. So a change is one step, however many objects it wrote before: a file's older chunks go in the step in which its
newer ones come.

A change is announced before its objects are written. So every object that is in no segment of the catalog, present or
coming, belongs to nobody, whoever died when: it may be erased at once, and no living writer loses what it is about to
name. A coming segment has chunks of the file that is added, and of segments that it replaces. Whatever takes the file
or such a segment out of the catalog takes the coming one out too: its writer finds that out and begins again, and of a
dead writer nothing is left.
"""

from __future__ import annotations

import hashlib

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from hosting.core.stores.contract import MOST_HEAD_BYTES
from hosting.errors import NewerVersionError
from hosting.features.uploads.search.index.contract import ChunkIndexFullError, IndexSpace

_VERSION = 1
_MODEL_DIGITS = 8


class LostChangeError(Exception):
    """Another change took what this one replaces, or its file: it is made again."""


class Segment(Struct, frozen=True, array_like=True):
    """A segment of so many chunks, with vectors of a model (see `model_key`)."""

    name: str
    chunks: int
    model: str


class CatalogChange(Struct, frozen=True, array_like=True):
    """Segments that come in place of others; `file_id` is of the file that is added, replaced or removed.

    Its other chunks go with it: those of `model`, or of every model where that is "".
    """

    file_id: str
    model: str
    comes: tuple[Segment, ...]
    replaces: tuple[str, ...]

    def collides(self, other: CatalogChange) -> bool:
        """Return whether one of them takes what the other needs."""
        is_same_model = not self.model or not other.model or self.model == other.model
        is_same_file = is_same_model and self.file_id == other.file_id
        return is_same_file or not set(self.replaces).isdisjoint(other.replaces)


class Catalog(Struct, frozen=True):
    """The segments of one scope, and the changes that were announced."""

    segments: tuple[Segment, ...] = ()
    coming: tuple[CatalogChange, ...] = ()
    v: int = _VERSION

    def of_model(self, model: str) -> tuple[Segment, ...]:
        """Return the segments of a model, or of every model where it is ""."""
        return tuple(segment for segment in self.segments if model in ("", segment.model))

    def names(self) -> set[str]:
        """Return the names of all segments that are there or about to come."""
        coming = {segment.name for change in self.coming for segment in change.comes}
        return coming | {segment.name for segment in self.segments}

    def announced(self, change: CatalogChange) -> Catalog:
        """Return the catalog with a change that is about to come.

        Raises `LostChangeError` where what it replaces is gone, and `ChunkIndexFullError`.
        """
        if change in self.coming:
            return self
        self._check_replaced(change)
        newer = replace(self, coming=(*self.coming, change))
        if len(encode_catalog(newer) or b"") > MOST_HEAD_BYTES:
            raise ChunkIndexFullError(
                f"The index of these files has {len(self.segments):,} segments, which is the most. Delete files."
            )
        return newer

    def made(self, change: CatalogChange) -> Catalog:
        """Return the catalog behind a change. Raises `LostChangeError` where another one came before."""
        present = {segment.name for segment in self.segments}
        if change.comes and all(segment.name in present for segment in change.comes):
            return self
        if change.comes and change not in self.coming:
            raise LostChangeError
        self._check_replaced(change)
        return replace(
            self,
            segments=(*(part for part in self.segments if part.name not in change.replaces), *change.comes),
            coming=tuple(other for other in self.coming if not change.collides(other)),
        )

    def without_model(self, model: str) -> Catalog:
        """Return the catalog without the segments of a model, or without all where it is ""."""
        gone = {segment.name for segment in self.of_model(model)}
        coming = tuple(
            change
            for change in self.coming
            if model not in ("", change.model) and change.model and gone.isdisjoint(change.replaces)
        )
        return replace(self, segments=tuple(part for part in self.segments if part.name not in gone), coming=coming)

    def _check_replaced(self, change: CatalogChange) -> None:
        if not {segment.name for segment in self.segments}.issuperset(change.replaces):
            raise LostChangeError


def model_key(space: IndexSpace) -> str:
    """Return what stands for a model and the size of its vectors; "" for every model."""
    if not space.model:
        return ""
    return hashlib.sha256(f"{space.size} {space.model}".encode()).hexdigest()[:_MODEL_DIGITS]


def decode_catalog(stored: bytes | None) -> Catalog:
    """Return the catalog as it is stored; an empty one where there is none. Raises `NewerVersionError`."""
    if stored is None:
        return Catalog()
    catalog = msgspec.msgpack.decode(stored, type=Catalog)
    if catalog.v > _VERSION:
        raise NewerVersionError(f"The index of files has version {catalog.v}. This app reads version {_VERSION}.")
    return catalog


def encode_catalog(catalog: Catalog) -> bytes | None:
    """Return what is stored, None for an empty one."""
    return msgspec.msgpack.encode(catalog) if catalog.segments or catalog.coming else None
