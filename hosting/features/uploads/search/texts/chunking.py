"""Chunks of a file's text: windows of tokens that overlap, cut where a reader would.

Theory. The text is a row of units, mostly words. A window begins at a unit and takes as many as it has tokens for. It
is cut behind the best of its last quarter: at the end of a page or a heading's part, else of a paragraph, of a sentence
or line, of a word, and only then within one. The next window begins so many tokens before the cut, at the best unit of
a quarter again. Nothing but the pieces decides, so each process cuts the same file alike. Only a window and a piece are
held, and each unit is looked at a few times: the cost grows with the text.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from itertools import accumulate

from hosting.features.uploads.search.chunk import Chunk, TextPlace
from hosting.features.uploads.search.texts.limits import TextPiece
from hosting.features.uploads.search.texts.tokens import HUNDREDTHS, cost

CHUNK_TOKENS, OVERLAP_TOKENS = 800, 400
LEAST_CHUNK_TOKENS = 100

_UNSPACED = "\u3000-\u30ff\u3400-\u9fff\uf900-\ufaff\uff01-\uff65"
"""Scripts that write no blanks between words: each character may be cut behind."""
_UNIT = re.compile(rf"[{_UNSPACED}]|[^\s{_UNSPACED}]{{1,64}}")
_ENDS = frozenset(".!?…")
_UNSPACED_ENDS = frozenset("。！？")
_CLOSERS = "\"')]}»”’」』"
_PART, _PARAGRAPH, _SENTENCE_AND_LINE, _SENTENCE, _WORD, _WITHIN = 5, 4, 3, 2, 1, 0


def chunked(
    pieces: Iterable[TextPiece], chunk_tokens: int = CHUNK_TOKENS, overlap_tokens: int = OVERLAP_TOKENS
) -> Iterator[Chunk]:
    """Give the chunks of a text in order; their places count the characters of all pieces joined.

    A chunk has at most `chunk_tokens` estimated tokens, and repeats up to `overlap_tokens` of the chunk before. Its
    page and label are those where it begins. Raise `ValueError` for fewer than 100 tokens, and for an overlap of more
    than half of a chunk.
    """
    if chunk_tokens < LEAST_CHUNK_TOKENS or not 0 <= overlap_tokens <= chunk_tokens // 2:
        raise ValueError(
            f"chunk_tokens={chunk_tokens}, overlap_tokens={overlap_tokens}: a chunk has at least {LEAST_CHUNK_TOKENS} "
            "tokens, and the overlap is at most half of it."
        )
    row = _Row(chunk_tokens * HUNDREDTHS, overlap_tokens * HUNDREDTHS)
    for piece in pieces:
        row.add(piece)
        yield from row.windows(is_end=False)
        row.forget()
    yield from row.windows(is_end=True)


class _Row:
    """The units that are not behind the next window, with the text under them."""

    def __init__(self, most: int, overlap: int) -> None:
        self._most, self._overlap = most, overlap
        self._text = ""
        self._base = 0
        self._starts: list[int] = []
        self._ends: list[int] = []
        self._costs = [0]
        """Of all units before each one, and of all at last."""
        self._places: list[tuple[int | None, str]] = []
        self._first = 0
        self._number = 0
        self._is_whole = False

    def add(self, piece: TextPiece) -> None:
        """Append the units of a piece."""
        offset = self._base + len(self._text)
        self._text += piece.text
        place = piece.page, piece.label
        units = list(_UNIT.finditer(piece.text))
        self._starts += [offset + unit.start() for unit in units]
        self._ends += [offset + unit.end() for unit in units]
        self._costs += accumulate((cost(unit[0]) for unit in units), initial=self._costs.pop())
        self._places += [place] * len(units)

    def windows(self, is_end: bool) -> Iterator[Chunk]:
        """Give each chunk that no later piece changes; at the end, all."""
        while not self._is_whole and self._first < len(self._starts):
            if self._costs[-1] - self._costs[self._first] > self._most:
                cut = self._cut()
            elif is_end:
                cut = len(self._starts)
            else:
                return
            yield self._chunk(cut)
            self._is_whole = cut == len(self._starts)
            self._first = self._next_first(cut)

    def forget(self) -> None:
        """Let go of what is before the next window."""
        if self._starts and not self._first:
            return
        kept = self._starts[self._first] if self._first < len(self._starts) else self._base + len(self._text)
        self._text = self._text[kept - self._base :]
        self._base = kept
        for units in (self._starts, self._ends, self._costs, self._places):
            del units[: self._first]
        self._first = 0

    def _chunk(self, cut: int) -> Chunk:
        start, end = self._starts[self._first], self._ends[cut - 1]
        page, label = self._places[self._first]
        text = self._text[start - self._base : end - self._base]
        self._number += 1
        return Chunk(self._number - 1, text, TextPlace(page, label, start, end))

    def _cut(self) -> int:
        """Return the unit before which the window ends: the last of the best."""
        first, costs = self._first, self._costs
        latest = max(bisect_right(costs, costs[first] + self._most, first + 1) - 1, first + 1)
        earliest = bisect_left(costs, costs[first] + self._most * 3 // 4, first + 1, latest)
        return max(range(earliest, latest + 1), key=lambda unit: (self._break_before(unit), unit))

    def _next_first(self, cut: int) -> int:
        """Return the unit with which the next window begins: the earliest of the best, and behind the last first."""
        if cut == len(self._starts):
            return cut
        costs, low = self._costs, self._first + 1
        earliest = bisect_left(costs, costs[cut] - self._overlap, low, cut)
        latest = bisect_left(costs, costs[cut] - self._overlap * 3 // 4, earliest, cut)
        return max(range(earliest, latest + 1), key=lambda unit: (self._break_before(unit), -unit))

    def _break_before(self, unit: int) -> int:
        """Return how good a place to cut there is between a unit and the one before."""
        if unit >= len(self._starts) or self._places[unit] != self._places[unit - 1]:
            return _PART
        end = self._ends[unit - 1]
        gap = self._text[end - self._base : self._starts[unit] - self._base]
        lines = gap.count("\n")
        if lines > 1:
            return _PARAGRAPH
        if self._is_sentence_end(unit - 1, gap):
            return _SENTENCE_AND_LINE if lines else _SENTENCE
        return _SENTENCE if lines else _WORD if gap else _WITHIN

    def _is_sentence_end(self, unit: int, gap: str) -> bool:
        word = self._text[self._starts[unit] - self._base : self._ends[unit] - self._base]
        last = word.rstrip(_CLOSERS)[-1:]
        return last in _UNSPACED_ENDS or (bool(gap) and last in _ENDS)
