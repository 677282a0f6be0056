"""Files of chunks with vectors that follow from their names, for tests of indexes."""

from __future__ import annotations

import random
from pathlib import Path

from hosting.core.cells import Cells
from hosting.core.stores.contract import ThreadStore
from hosting.core.stores.sqlite import SqliteThreadStore
from hosting.core.stores.sqlite_objects import ATTACHMENTS, SqliteObjects
from hosting.core.stores.sqlite_writer import StoreFile
from hosting.core.thread_log import ThreadLog
from hosting.errors import AttachmentsUnavailableError
from hosting.features.uploads.search.chunk import Chunk, TextPlace
from hosting.features.uploads.search.index.contract import ChunkIndex, ChunkQuery, FoundChunk, IndexedChunk, IndexSpace
from hosting.features.uploads.search.index.stored import StoredChunkIndex
from hosting.ports import ObjectStore

HUB = "hub"
SIZE = 48
SPACE = IndexSpace("joker", "person1", model="model-a", size=SIZE)


def direction(name: str, size: int = SIZE) -> list[float]:
    """Return a vector that is the name's own."""
    dice = random.Random(name)
    return [dice.gauss(0, 1) for _ in range(size)]


def indexed(file_id: str, number: int, size: int = SIZE) -> IndexedChunk:
    """Return a chunk of a file, with words that no other chunk has."""
    text = f"The word {word(file_id, number)} stands here."
    place = TextPlace(page=number + 1, label=f"Heading {number}", start=100 * number, end=100 * number + len(text))
    return IndexedChunk(Chunk(number, text, place), direction(f"{file_id} {number}", size))


def word(file_id: str, number: int) -> str:
    """Return the word that only this chunk has."""
    return f"{file_id}x{number}".lower()


def chunks_of(file_id: str, chunks: int, size: int = SIZE) -> list[IndexedChunk]:
    """Return all chunks of a file."""
    return [indexed(file_id, number, size) for number in range(chunks)]


async def everything(index: ChunkIndex, *spaces: IndexSpace) -> list[tuple[str, int]]:
    """Return the file and the number of each chunk that a search finds, each as often as it is found."""
    hits = await index.search(spaces or [SPACE], ChunkQuery(direction("any"), "the word stands here", most=5000))
    return sorted((hit.file_id, hit.chunk.number) for hit in hits)


async def first(index: ChunkIndex, file_id: str, number: int, space: IndexSpace = SPACE) -> FoundChunk:
    """Return the best chunk for the meaning and the word of one."""
    query = ChunkQuery(direction(f"{file_id} {number}", space.size), word(file_id, number), most=3)
    return (await index.search([space], query))[0]


def numbered(**files: int) -> list[tuple[str, int]]:
    """Return what `everything` finds of files with so many chunks."""
    return sorted((file_id, number) for file_id, chunks in files.items() for number in range(chunks))


def stored_index(store: ThreadStore, objects: ObjectStore) -> StoredChunkIndex:
    """Return the app's own index in these stores."""
    return StoredChunkIndex(Cells(store, ThreadLog(store, objects, HUB)), objects, HUB)


def sqlite_index(folder: Path) -> StoredChunkIndex:
    """Return the app's own index in files of that folder, as any process opens it."""
    objects = SqliteObjects(StoreFile(ATTACHMENTS, folder / "objects.sqlite", AttachmentsUnavailableError))
    return stored_index(SqliteThreadStore(folder / "log.sqlite", HUB), objects)
