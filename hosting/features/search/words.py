"""The words of a text, of what is searched for, and the snippet of a text with one of them.

Theory. Texts are compared after NFKC and casefold, so letter case and the forms of one character do not count. A word
is a run of letters, marks and digits. Scripts without blanks between words (Chinese, Japanese, Korean, Thai and their
neighbours) are cut into pairs of characters that overlap, and a run's last character stands alone too. So what is
searched for is found wherever it begins in such a run.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Iterator

from msgspec import Struct

from hosting.http.verbs import Snippet

MOST_CHARACTERS = 64
"""The characters that are kept of a word: of a longer one its beginning is searched for."""
_SNIPPET = 80
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u2e80-\u2fdf\u3005-\u3007\u3040-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\U00020000-\U0003ffff"
)
_MOST_MARK = 0x1F000
"""No mark (category M) stands behind it, but for variation selectors, which NFKC keeps and nobody searches for."""


def _marks() -> str:
    """Return all combining marks as the inner part of a set of characters: `re` has no name for them."""
    marks = (chr(code) for code in range(0x300, min(_MOST_MARK, sys.maxunicode)))
    return "".join(mark for mark in marks if unicodedata.category(mark)[0] == "M")


RUN = re.compile(rf"[{_UNSPACED}]+|(?:(?![{_UNSPACED}])(?:[^\W_]|[{_marks()}]))+")
_IS_UNSPACED = re.compile(rf"[{_UNSPACED}]")


def is_unspaced(run: str) -> bool:
    """Return whether the run begins with a character of a script without blanks."""
    return _IS_UNSPACED.match(run) is not None


def folded(text: str) -> str:
    """Return the text as it is compared."""
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())


def words_of(text: str) -> Iterator[str]:
    """Yield the words of a text, as often as they stand in it."""
    for run in RUN.findall(folded(text)):
        if not run.isascii() and _IS_UNSPACED.match(run):
            yield from (run[start : start + 2] for start in range(len(run) - 1))
            yield run[-1]
        else:
            yield run[:MOST_CHARACTERS]


class SearchedWord(Struct, frozen=True):
    """A word that must be there, or the beginning of one."""

    text: str
    begins: bool = False

    def is_in(self, word: str) -> bool:
        """Return whether this word is meant."""
        return word.startswith(self.text) if self.begins else word == self.text


def searched_words(text: str) -> tuple[SearchedWord, ...]:
    """Return the words that a search means: the last one is a beginning, unless a blank follows it."""
    words = dict[SearchedWord, None]()
    runs = list(RUN.finditer(folding := folded(text)))
    for run in runs:
        is_open = run.end() == len(folding)
        if not _IS_UNSPACED.match(run[0]):
            words[SearchedWord(run[0][:MOST_CHARACTERS], is_open or len(run[0]) > MOST_CHARACTERS)] = None
        elif len(run[0]) == 1:
            words[SearchedWord(run[0], begins=True)] = None
        else:
            words |= {SearchedWord(run[0][start : start + 2]): None for start in range(len(run[0]) - 1)}
    return tuple(words)


def snippet_of(text: str, words: tuple[SearchedWord, ...], span: tuple[int, int] | None = None) -> Snippet | None:
    """Return the part of the text with that span, else with the first of these words; None without any."""
    if span is None and (span := _first_hit(text, words)) is None:
        return None
    start, end = span
    first, last = max(0, start - _SNIPPET), end + _SNIPPET
    before, after = " ".join(f"{text[first:start]}|".split()), " ".join(f"|{text[end:last]}".split())
    return Snippet(
        f"{'…' * (first > 0)}{before.removesuffix('|')}",
        text[start:end],
        f"{after.removeprefix('|')}{'…' * (last < len(text))}",
    )


def _first_hit(text: str, words: tuple[SearchedWord, ...]) -> tuple[int, int] | None:
    for run in RUN.finditer(text):
        if (hit := _hit(run[0], words)) is not None:
            return run.start() + hit[0], run.start() + hit[1]
    return None


def _hit(run: str, words: tuple[SearchedWord, ...]) -> tuple[int, int] | None:
    """Return where in the run one of the words stands: all of it, but in scripts without blanks."""
    if not _IS_UNSPACED.match(run):
        return (0, len(run)) if any(word.is_in(part) for word in words for part in words_of(run)) else None
    places = [(folded(run).find(word.text), len(word.text)) for word in words if word.text in folded(run)]
    if not places:
        return None
    start, length = min(places)
    return (start, start + length)
