"""The best chunks of what is loaded, by their vectors and by their words together.

Theory. Likeness of vectors and fitness of words are numbers of different kinds, so they are not added. Each gives an
order, and a chunk counts by its rank in both: reciprocal rank fusion. A chunk that is first in one order and absent in
the other is still among the first.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import NDArray

from hosting.features.uploads.search.index.loaded import SegmentRow
from hosting.features.uploads.search.index.postings import weigh
from hosting.features.uploads.search.index.segments import LoadedSegment
from hosting.features.uploads.search.index.vectors import direction_of, nearest, signs_of

_FUSED_BEHIND = 60
"""What a rank is counted from: with the usual 60, a second place is worth little less than a first."""
_DEPTH = 100
"""So many ranks of each order count, at least."""
_NEVER = 65535

Ranked = tuple[int, int]
"""A row: the number of its segment, and its own."""


class Searched:
    """The segments of one search, each with the number of its shelf."""

    def __init__(self, segments: Sequence[tuple[int, LoadedSegment]]) -> None:
        self._segments = segments

    def best(
        self, vector: Sequence[float], words: Sequence[str], most: int, file_ids: Collection[str] | None
    ) -> list[tuple[SegmentRow, float]]:
        """Return the best rows with their scores, the best first. Only rows of `file_ids` are taken, if there are."""
        outside = None if file_ids is None else [segment.rows_outside(file_ids) for _, segment in self._segments]
        depth = max(_DEPTH, most)
        orders = [self._by_vector(vector, depth, outside)]
        if words:
            orders.append(self._by_words(words, depth, outside))
        scores: defaultdict[Ranked, float] = defaultdict(float)
        for order in orders:
            for rank, ranked in enumerate(order):
                scores[ranked] += (_FUSED_BEHIND + 1) / (_FUSED_BEHIND + 1 + rank) / len(orders)
        best = sorted(scores.items(), key=lambda item: (-item[1], item[0]))[:most]
        return [(SegmentRow(*self._segments[number], row), score) for (number, row), score in best]

    def _by_vector(
        self, vector: Sequence[float], depth: int, outside: Sequence[NDArray[np.bool_]] | None
    ) -> list[Ranked]:
        direction = direction_of(vector)
        signs = signs_of(direction)
        counts = [segment.vectors.differing(signs) for _, segment in self._segments]
        for count, is_outside in zip(counts, outside or (), strict=False):
            count[is_outside] = _NEVER
        hits = nearest([segment.vectors for _, segment in self._segments], counts, direction, depth)
        return [(number, row) for number, row, _ in hits]

    def _by_words(self, words: Sequence[str], depth: int, outside: Sequence[NDArray[np.bool_]] | None) -> list[Ranked]:
        weights = weigh([segment.wording for _, segment in self._segments], words)
        for weight, is_outside in zip(weights, outside or (), strict=False):
            weight[is_outside] = 0
        joined = np.concatenate(weights)
        starts = np.cumsum([0, *map(len, weights)])
        rows = np.flatnonzero(joined)
        if len(rows) > depth:
            rows = rows[np.argpartition(-joined[rows], depth)[:depth]]
        rows = rows[np.lexsort((rows, -joined[rows]))]
        numbers = np.searchsorted(starts, rows, side="right") - 1
        return [(int(number), int(row - starts[number])) for number, row in zip(numbers, rows, strict=True)]
