"""A segment: up to 4,096 chunks of files with their vectors and words, in objects that never change.

Theory. An object is read whole, so a segment is several: a search needs the vectors and the lists of files of all
segments, the words of a few parts, and the texts of a few chunks. All of them have names that begin with the segment's,
and their number follows from the number of chunks, so whoever erases a segment names them without a look.
"""

from __future__ import annotations

import zlib
from collections.abc import Collection, Iterator, Mapping, Sequence

import msgspec
import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from hosting.features.uploads.search.chunk import Chunk
from hosting.features.uploads.search.index.contract import IndexedChunk
from hosting.features.uploads.search.index.postings import PostingPart, Wording, encode_words, parts_of
from hosting.features.uploads.search.index.vectors import (
    Vectors,
    decode_vectors,
    encode_vectors,
    stored_numbers,
    stored_size,
)

MOST_CHUNKS = 4096
_CHUNKS_IN_BLOCK = 64
_LEVEL = 6


class FileRows(Struct, frozen=True, array_like=True):
    """The chunks of one file in a segment: so many rows, behind those of the files before it."""

    file_id: str
    chunks: int


class _Directory(Struct, frozen=True, array_like=True):
    files: list[FileRows]
    lengths: bytes


class LoadedSegment(Struct):
    """What a process remembers of a segment; more parts of its words are added as they are read."""

    name: str
    files: Sequence[FileRows]
    lengths: NDArray[np.float32]
    vectors: Vectors
    parts: dict[int, PostingPart]

    @property
    def chunks(self) -> int:
        """How many chunks it has."""
        return len(self.lengths)

    @property
    def wording(self) -> Wording:
        """Its words, as far as they were read."""
        return Wording(self.lengths, self.parts, parts_of(self.chunks))

    @property
    def memory_bytes(self) -> int:
        """How much it takes."""
        parts = sum(part.memory_bytes for part in self.parts.values())
        files = sum(len(file.file_id) + 100 for file in self.files)
        return self.vectors.memory_bytes + int(self.lengths.nbytes) + parts + files

    def file_of(self, row: int) -> str:
        """Return the file that the row's chunk is of."""
        for file in self.files:
            if row < file.chunks:
                return file.file_id
            row -= file.chunks
        raise ValueError(f"The segment has no row {row:,} behind its last one.")

    def rows_outside(self, file_ids: Collection[str]) -> NDArray[np.bool_]:
        """Return for each row whether its chunk is of none of these files."""
        return np.repeat([file.file_id not in file_ids for file in self.files], [file.chunks for file in self.files])


class SegmentContents(Struct, frozen=True):
    """What a segment is made of: its files, and a chunk and a row of numbers for each of their chunks."""

    files: Sequence[FileRows]
    chunks: Sequence[Chunk]
    numbers: NDArray[np.int8]

    def without(self, file_id: str) -> SegmentContents:
        """Return them without a file."""
        counts = [file.chunks for file in self.files]
        stays = np.repeat([file.file_id != file_id for file in self.files], counts)
        chunks = [chunk for chunk, is_kept in zip(self.chunks, stays, strict=True) if is_kept]
        return SegmentContents([file for file in self.files if file.file_id != file_id], chunks, self.numbers[stays])


def segment_contents(file_id: str, chunks: Sequence[IndexedChunk]) -> Iterator[SegmentContents]:
    """Yield the contents for a whole file: of one segment, or of several."""
    for first in range(0, len(chunks), MOST_CHUNKS):
        part = chunks[first : first + MOST_CHUNKS]
        numbers = stored_numbers([indexed.vector for indexed in part])
        yield SegmentContents([FileRows(file_id, len(part))], [indexed.chunk for indexed in part], numbers)


def joined_contents(contents: Sequence[SegmentContents]) -> SegmentContents:
    """Return several as one, which has at most `MOST_CHUNKS` chunks."""
    return SegmentContents(
        [file for part in contents for file in part.files],
        [chunk for part in contents for chunk in part.chunks],
        np.concatenate([part.numbers for part in contents]),
    )


def encode_segment(name: str, contents: SegmentContents) -> dict[str, bytes]:
    """Return the objects of the segment by their names."""
    parts, lengths = encode_words([chunk.text for chunk in contents.chunks])
    directory = _Directory(list(contents.files), np.asarray(lengths, "<u4").tobytes())
    blocks = range(0, len(contents.chunks), _CHUNKS_IN_BLOCK)
    texts = [contents.chunks[first : first + _CHUNKS_IN_BLOCK] for first in blocks]
    return {
        files_name(name): msgspec.msgpack.encode(directory),
        vectors_name(name): encode_vectors(contents.numbers),
        **{words_name(name, number): part for number, part in enumerate(parts)},
        **{
            _text_name(name, number): zlib.compress(msgspec.msgpack.encode(block), _LEVEL)
            for number, block in enumerate(texts)
        },
    }


def object_names(name: str, chunks: int) -> list[str]:
    """Return the names of all objects of a segment with so many chunks."""
    return [*contents_names(name, chunks), *(words_name(name, number) for number in range(parts_of(chunks)))]


def contents_names(name: str, chunks: int) -> list[str]:
    """Return the names of the objects that `decode_contents` needs."""
    return [files_name(name), vectors_name(name), *text_names(name, chunks)]


def files_name(name: str) -> str:
    """Return the name of the object that lists the files."""
    return f"{name}-files"


def vectors_name(name: str) -> str:
    """Return the name of the object that has the vectors."""
    return f"{name}-vectors"


def words_name(name: str, part: int) -> str:
    """Return the name of the object that has a part of the words."""
    return f"{name}-words-{part}"


def text_names(name: str, chunks: int) -> list[str]:
    """Return the names of the objects that have the texts."""
    return [_text_name(name, number) for number in range(-(-chunks // _CHUNKS_IN_BLOCK))]


def text_place(name: str, row: int) -> tuple[str, int]:
    """Return which object has the text of a row, and where in it."""
    number, place = divmod(row, _CHUNKS_IN_BLOCK)
    return _text_name(name, number), place


def _text_name(name: str, block: int) -> str:
    return f"{name}-texts-{block}"


def decode_files(stored: bytes) -> list[FileRows]:
    """Return the files of a segment."""
    return _decode_directory(stored).files


def decode_texts(stored: bytes) -> list[Chunk]:
    """Return the chunks of one object of texts."""
    return msgspec.msgpack.decode(zlib.decompress(stored), type=list[Chunk])


def decode_segment(name: str, size: int, objects: Mapping[str, bytes]) -> LoadedSegment:
    """Return a segment of its lists of files and its vectors, which have that size."""
    directory = _decode_directory(objects[files_name(name)])
    lengths = np.frombuffer(directory.lengths, "<u4").astype(np.float32)
    return LoadedSegment(name, directory.files, lengths, decode_vectors(objects[vectors_name(name)], size), {})


def decode_contents(name: str, chunks: int, objects: Mapping[str, bytes]) -> SegmentContents:
    """Return what a segment with so many chunks was made of."""
    vectors = objects[vectors_name(name)]
    texts = [chunk for text_name in text_names(name, chunks) for chunk in decode_texts(objects[text_name])]
    numbers = decode_vectors(vectors, stored_size(vectors, chunks)).numbers
    return SegmentContents(decode_files(objects[files_name(name)]), texts, numbers)


_decode_directory = msgspec.msgpack.Decoder(_Directory).decode
