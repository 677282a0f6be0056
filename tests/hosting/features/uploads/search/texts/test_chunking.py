"""Chunks of a text: how large, where they are cut, and that each process cuts alike."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hosting.features.uploads.search.texts.chunking import chunked
from hosting.features.uploads.search.texts.limits import TextPiece
from hosting.features.uploads.search.texts.tokens import estimated

SENTENCE = "The committee of the association met on Tuesday and decided nothing. "
PARAGRAPHS = "\n\n".join(SENTENCE * 5 for _ in range(60))


def test_chunks_overlap_and_are_cut_at_paragraphs() -> None:
    chunks = list(chunked([TextPiece(PARAGRAPHS)]))

    assert len(chunks) > 5
    assert [chunk.number for chunk in chunks] == list(range(len(chunks)))
    for chunk, following in pairwise(chunks):
        shared = PARAGRAPHS[following.place.start : chunk.place.end]
        assert estimated(chunk.text) <= 800
        assert 250 <= estimated(shared) <= 400
        assert chunk.text.startswith("The")
        assert chunk.text.endswith("nothing.")
        assert PARAGRAPHS[chunk.place.end : chunk.place.end + 3].isspace()


def test_a_chunk_has_the_page_and_the_heading_where_it_begins() -> None:
    pages = [TextPiece(SENTENCE * 7 + "\n\n", number, f"Part {number}") for number in (1, 2, 3)]
    chunks = list(chunked(pages, 150, 0))

    assert [(chunk.place.page, chunk.place.label) for chunk in chunks] == [(1, "Part 1"), (2, "Part 2"), (3, "Part 3")]


@pytest.mark.parametrize(("size", "overlap"), [(99, 0), (800, 401), (800, -1)])
def test_sizes_that_make_no_sense_are_refused(size: int, overlap: int) -> None:
    with pytest.raises(ValueError, match=f"chunk_tokens={size}, overlap_tokens={overlap}"):
        list(chunked([], size, overlap))


@given(
    st.lists(st.text(st.sampled_from("ab. \n中。1!x"), max_size=400), max_size=6),
    st.integers(100, 200),
    st.floats(0, 0.5),
)
def test_chunks_hold_all_of_the_text_in_order(texts: list[str], size: int, share: float) -> None:
    whole = "".join(texts)
    chunks = list(chunked(map(TextPiece, texts), size, int(size * share)))

    end, start = 0, -1
    for chunk in chunks:
        assert chunk.text == whole[chunk.place.start : chunk.place.end]
        assert start < chunk.place.start
        assert end < chunk.place.end
        assert not whole[end : chunk.place.start].strip()
        start, end = chunk.place.start, chunk.place.end
    assert not whole[end:].strip()
