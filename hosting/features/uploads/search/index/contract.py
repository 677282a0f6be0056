"""The contract of an index of files' chunks: what adds them, finds them, and takes them out for good.

Theory. A space is what is searched together: the files of one scope, embedded by one model. Whoever adds a file hands
it over whole, so an index never holds a part of one: a search finds the file as it was before, or as it is now. Every
index passes tests/contracts/test_chunk_index.py.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Protocol

from msgspec import Struct

from hosting.errors import ConfigurationError
from hosting.features.uploads.refusals import ChunkIndexUnavailableError
from hosting.features.uploads.search.chunk import Chunk


class ChunkIndexFullError(ValueError):
    """The space has as many segments as it may have."""


class IndexSpace(Struct, frozen=True):
    """What is searched together: files of a scope, in vectors of one model, each of `size` numbers.

    The scope is that of the files: an `agent` in lower case, or "" for files with every agent; an `owner`, or "" for
    files of the agent itself; and of files of one thread its id and the `epoch` of its life. To remove a file and to
    erase a scope, `model` may be "": that means the vectors of every model.
    """

    agent: str
    owner: str
    thread_id: str = ""
    epoch: int = 0
    model: str = ""
    size: int = 0


class IndexedChunk(Struct, frozen=True):
    """A chunk with the vector of its text."""

    chunk: Chunk
    vector: Sequence[float]


class ChunkQuery(Struct, frozen=True):
    """What is searched for: the vector of a text and, for its words, the text itself.

    With `file_ids` no other file is searched. Without a `text` the vectors alone decide.
    """

    vector: Sequence[float]
    text: str = ""
    most: int = 20
    file_ids: frozenset[str] | None = None


class FoundChunk(Struct, frozen=True):
    """A chunk that was found. `score` is from 0 to 1: 1 for the first one by its meaning and by its words."""

    file_id: str
    chunk: Chunk
    score: float


class ChunkIndex(Protocol):
    """An index of chunks, shared by all processes of one app.

    Each method raises an error of `StoreUnavailableError` when a store of it cannot be reached; calling again with the
    same arguments is safe, also after the process was killed in the middle.
    """

    async def add(self, space: IndexSpace, file_id: str, chunks: Sequence[IndexedChunk]) -> None:
        """Index a whole file in place of what is indexed of it.

        Raises `ValueError` for a vector of another size than the space's, or without a direction.
        """

    async def remove(self, space: IndexSpace, file_id: str) -> int:
        """Remove a file, and return how many chunks of it there were. No store has its bytes afterwards."""

    async def search(self, spaces: Sequence[IndexSpace], query: ChunkQuery) -> Sequence[FoundChunk]:
        """Return the chunks of these spaces that fit best, the best one first. The spaces have one model and size.

        A file that was removed before the call began is not found. Raises `ValueError` as `add` does.
        """

    async def erase(self, space: IndexSpace) -> int:
        """Remove all files, and return how many chunks there were. No store has their bytes afterwards."""

    async def close(self) -> None:
        """Let go of memory and connections."""


def checked_vector(vector: Sequence[float], size: int) -> Sequence[float]:
    """Return the vector. Raises `ValueError` for one of another size, or without a direction.

    A number of four bytes must hold what is computed with it.
    """
    if len(vector) != size:
        raise ValueError(f"The vector has {len(vector):,} numbers, and the vectors of this index have {size:,}.")
    if not 1e-30 < (length := math.sqrt(sum(number * number for number in vector))) < 1e30:
        raise ValueError(f"The vector has the length {length}, so it has no direction.")
    return vector


def one_model(spaces: Sequence[IndexSpace]) -> tuple[str, int]:
    """Return the model and the size of these spaces. Raises `ValueError` for spaces of several."""
    models = {(space.model, space.size) for space in spaces}
    if len(models) != 1:
        raise ValueError(f"{len(models)} models were named for one search. Search the spaces of one model.")
    return models.pop()


def check_index_packages() -> None:
    """Raise `ChunkIndexUnavailableError` where numpy is not installed any more, and files are in the app's index."""
    if find_spec("numpy") is None:
        raise ChunkIndexUnavailableError(
            "The file is in the index of a search, which needs numpy to take it out. "
            "Add the lines of requirements-file-search.txt to requirements.txt. Then try again."
        )


def check_numpy() -> None:
    """Raise `ConfigurationError` where numpy is not installed: the app's own index computes with it."""
    if find_spec("numpy") is None:
        raise ConfigurationError(
            "A search in files needs numpy. Add the lines of requirements-file-search.txt to requirements.txt."
        )
