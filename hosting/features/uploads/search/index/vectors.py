"""Vectors as they are stored, a byte for each number, and the search through all of them.

Theory. A vector's direction is what counts, so its numbers are kept as parts of its largest one, in 127 steps. From the
signs alone, a bit for each number, one sees nearly which vectors are near: two of them differ in few signs. So a search
counts the differing signs of all vectors, and compares the best of those again by their numbers. No vector is left out
by a graph or a tree, and nothing has to be built before a search.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

_STEPS = 127
_WORD_BITS = 64
_LENGTH_BYTES = 4
LEAST_CANDIDATES = 4000
"""So many vectors with the fewest differing signs are compared by their numbers, at least."""
_ROWS_FOR_A_CANDIDATE = 20
"""Of more vectors, one in so many is."""
_CANDIDATES_OF_EACH = 40
"""The same for each chunk that is to be found."""


class Vectors(Struct, frozen=True):
    """The vectors of a segment, a row for each: numbers of a byte, one over the length of the row, and the signs.

    The signs stand in columns, because numpy counts many rows at once, and few columns.
    """

    numbers: NDArray[np.int8]
    per_length: NDArray[np.float32]
    signs: NDArray[np.uint64]

    @property
    def memory_bytes(self) -> int:
        """How much it takes."""
        return int(self.numbers.nbytes + self.per_length.nbytes + self.signs.nbytes)

    def differing(self, signs: NDArray[np.uint64]) -> NDArray[np.uint16]:
        """Return in how many signs each vector differs from these."""
        counts: NDArray[np.uint16] = np.bitwise_count(self.signs ^ signs[:, None]).sum(axis=0, dtype=np.uint16)
        return counts

    def cosines(self, rows: NDArray[np.intp], direction: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return how alike these rows are to a vector of length 1: 1 for the same direction."""
        products: NDArray[np.float32] = self.numbers[rows].astype(np.float32) @ direction
        return products * self.per_length[rows]


def stored_numbers(vectors: Sequence[Sequence[float]]) -> NDArray[np.int8]:
    """Return the vectors with a byte for each number."""
    numbers = np.asarray(vectors, dtype=np.float32)
    largest = np.abs(numbers).max(axis=1, keepdims=True)
    steps: NDArray[np.int8] = np.rint(numbers * (_STEPS / largest)).astype(np.int8)
    return steps


def encode_vectors(numbers: NDArray[np.int8]) -> bytes:
    """Return the numbers as they are stored, with the lengths behind them."""
    lengths = np.sqrt(np.square(numbers, dtype=np.float32).sum(axis=1))
    return bytes(numbers.tobytes() + (1 / lengths).astype("<f4").tobytes())


def decode_vectors(stored: bytes, size: int) -> Vectors:
    """Return the vectors as `encode_vectors` left them, without a copy of the numbers."""
    rows = len(stored) // (size + _LENGTH_BYTES)
    numbers = np.frombuffer(stored, np.int8, rows * size).reshape(rows, size)
    return Vectors(numbers, np.frombuffer(stored, "<f4", rows, rows * size), np.ascontiguousarray(_signs(numbers).T))


def stored_size(stored: bytes, rows: int) -> int:
    """Return how many numbers each of so many stored vectors has."""
    return len(stored) // rows - _LENGTH_BYTES


def direction_of(vector: Sequence[float]) -> NDArray[np.float32]:
    """Return the vector with the length 1."""
    numbers = np.asarray(vector, dtype=np.float32)
    scaled = numbers / np.abs(numbers).max()
    return np.asarray(scaled / np.linalg.norm(scaled), dtype=np.float32)


def signs_of(direction: NDArray[np.float32]) -> NDArray[np.uint64]:
    """Return the signs of one vector, as `Vectors.differing` takes them."""
    signs: NDArray[np.uint64] = _signs(direction[None, :])[0]
    return signs


def nearest(
    segments: Sequence[Vectors], counts: Sequence[NDArray[np.uint16]], direction: NDArray[np.float32], most: int
) -> list[tuple[int, int, float]]:
    """Return the nearest vectors, as segment, row and cosine, the nearest one first.

    `counts` are the differing signs of each segment. A row that is not to be found has more of them than there are.
    """
    differing = np.concatenate(counts)
    starts = np.cumsum([0, *(len(part) for part in counts)])
    rows_with = np.bincount(differing, minlength=len(direction) + 1)[: len(direction) + 1].cumsum()
    enough = max(LEAST_CANDIDATES, _CANDIDATES_OF_EACH * most, len(differing) // _ROWS_FOR_A_CANDIDATE)
    most_differing = np.searchsorted(rows_with, enough)
    candidates = np.flatnonzero(differing <= min(int(most_differing), len(direction)))
    found = list[tuple[int, int, float]]()
    for number, segment in enumerate(segments):
        first, last = np.searchsorted(candidates, starts[number : number + 2])
        rows = candidates[first:last] - starts[number]
        if len(rows):
            cosines = segment.cosines(rows, direction)
            best = _smallest(-cosines, most)
            found += [(number, int(rows[row]), float(cosines[row])) for row in best]
    return sorted(found, key=lambda hit: (-hit[2], hit[:2]))[:most]


def _smallest(values: NDArray[np.generic], most: int) -> NDArray[np.intp]:
    if len(values) <= most:
        return np.arange(len(values))
    return np.argpartition(values, most)[:most]


def _signs(numbers: NDArray[np.generic]) -> NDArray[np.uint64]:
    bits = np.packbits(numbers > 0, axis=1)  # type: ignore[operator]
    filled = np.zeros((len(bits), -(-bits.shape[1] * 8 // _WORD_BITS) * 8), np.uint8)
    filled[:, : bits.shape[1]] = bits
    return filled.view(np.uint64)
