"""What is searched for in threads, and the snippet of a text with one of its words."""

from __future__ import annotations

from msgspec import Struct

from hosting.http.verbs import Snippet
from hosting.words import MOST_CHARACTERS, RUN, folded, is_unspaced, words_of

_SNIPPET = 80


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
        if not is_unspaced(run[0]):
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
    if not is_unspaced(run):
        return (0, len(run)) if any(word.is_in(part) for word in words for part in words_of(run)) else None
    places = [(folded(run).find(word.text), len(word.text)) for word in words if word.text in folded(run)]
    if not places:
        return None
    start, length = min(places)
    return (start, start + length)
