"""Vectors with a byte for each number: what is lost by that, and by looking at signs first."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from hosting.features.uploads.search.index import vectors
from hosting.features.uploads.search.index.vectors import (
    decode_vectors,
    direction_of,
    encode_vectors,
    nearest,
    signs_of,
    stored_numbers,
)

MOST = 10
SEGMENT = 1000


def recall(rows: NDArray[np.float32], queries: NDArray[np.float32]) -> float:
    """Return which part of the ten nearest rows by all digits is found."""
    stored = [stored_numbers(rows[first : first + SEGMENT].tolist()) for first in range(0, len(rows), SEGMENT)]
    segments = [decode_vectors(encode_vectors(numbers), rows.shape[1]) for numbers in stored]
    lengths = np.linalg.norm(rows, axis=1)
    hits = 0
    for query in queries:
        direction = direction_of(query.tolist())
        signs = signs_of(direction)
        best = nearest(segments, [segment.differing(signs) for segment in segments], direction, MOST)
        exact = np.argsort(-(rows @ query) / lengths)[:MOST]
        hits += len({SEGMENT * number + row for number, row, _ in best} & set(exact.tolist()))
    return hits / MOST / len(queries)


@pytest.mark.behaviour("file-index.recall")
@pytest.mark.parametrize(("numbers", "least"), [(64, 0.9), (100, 0.9), (1536, 0.97)])
def test_nearly_all_that_an_exact_search_finds_is_found(
    monkeypatch: pytest.MonkeyPatch, numbers: int, least: float
) -> None:
    monkeypatch.setattr(vectors, "LEAST_CANDIDATES", 1)
    dice = np.random.default_rng(7)
    centres = dice.standard_normal((40, numbers), dtype=np.float32)
    rows = centres[dice.integers(0, 40, 12_000)] + dice.standard_normal((12_000, numbers), dtype=np.float32)
    queries = centres[:20] + dice.standard_normal((20, numbers), dtype=np.float32)

    assert recall(rows, queries) >= least


def test_a_row_that_may_not_be_found_is_not_found() -> None:
    dice = np.random.default_rng(7)
    segment = decode_vectors(encode_vectors(stored_numbers(dice.standard_normal((5, 70)).tolist())), 70)
    direction = direction_of(segment.numbers[2].tolist())
    counts = segment.differing(signs_of(direction))

    [first, *_] = nearest([segment], [counts], direction, 5)
    counts[[0, 2]] = 65535
    allowed = {row for _, row, _ in nearest([segment], [counts], direction, 5)}

    assert first[:2] == (0, 2)
    assert first[2] == pytest.approx(1.0, abs=1e-4)
    assert allowed == {1, 3, 4}
