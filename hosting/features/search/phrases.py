"""What a search means: the words that must be there, and the phrases, which are words in their order.

Theory. The index has words and not their order. So all words of a phrase choose the threads, and the texts of these say
whether they have the phrase. A text is compared as one line: its words in lower case with a blank between any two. In
scripts without blanks a phrase may begin and end within a run of characters.
"""

from __future__ import annotations

from bisect import bisect_right

from msgspec import Struct

from hosting.features.search.words import SearchedWord, searched_words, snippet_of
from hosting.http.verbs import Snippet
from hosting.words import MOST_CHARACTERS, RUN, folded, is_unspaced

_QUOTES = str.maketrans(dict.fromkeys("“”„‟＂", '"'))


class Phrase(Struct, frozen=True):
    """Words that follow each other in one text; `text` is what was sent between the quotation marks."""

    text: str
    words: tuple[SearchedWord, ...]
    line: str

    def is_in(self, text: str) -> bool:
        """Return whether the text has it."""
        return self.line in line_of(text)


class Term(Struct, frozen=True):
    """A word or a phrase, in the order in which they were sent; with `begins` its last word may go on."""

    text: str
    is_phrase: bool = False
    begins: bool = False


class SearchedText(Struct, frozen=True):
    """All words that a thread must have, those of phrases among them, and the phrases that one must look for."""

    words: tuple[SearchedWord, ...]
    phrases: tuple[Phrase, ...]
    terms: tuple[Term, ...]

    def fits(self, text: str) -> bool:
        """Return whether the text has all phrases."""
        return all(phrase.is_in(text) for phrase in self.phrases)


def searched_text(text: str) -> SearchedText:
    """Return what a search means: quotation marks make phrases, and the last mark may be missing."""
    words, phrases, terms = dict[SearchedWord, None](), dict[Phrase, None](), list[Term]()
    parts = text.translate(_QUOTES).split('"')
    for number, part in enumerate(parts):
        is_last = number == len(parts) - 1
        own = searched_words(part if is_last else f"{part} ")
        words |= dict.fromkeys(own)
        runs = RUN.findall(folded(part))
        is_open = bool(runs) and is_last and folded(part).endswith(runs[-1])
        if number % 2 and runs and (len(runs) > 1 or is_unspaced(runs[0]) or len(runs[0]) > MOST_CHARACTERS):
            terms.append(Term(" ".join(runs), is_phrase=True, begins=is_open))
            phrases[Phrase(part, own, _searched_line(runs, begins=is_open))] = None
        else:
            terms += [Term(run) for run in runs[:-1]] + [Term(run, begins=is_open) for run in runs[-1:]]
    return SearchedText(tuple(words), tuple(phrases), tuple(terms))


def line_of(text: str) -> str:
    """Return the text as phrases are looked for in it."""
    return f" {' '.join(RUN.findall(folded(text)))} "


def snippet_with(text: str, searched: SearchedText) -> Snippet | None:
    """Return the part of the text with the first phrase, else with the first of the words; None without any."""
    for phrase in searched.phrases:
        if (span := _span_of(text, phrase)) is not None:
            return snippet_of(text, searched.words, span)
    return snippet_of(text, searched.words)


def _searched_line(runs: list[str], *, begins: bool) -> str:
    before = "" if is_unspaced(runs[0]) else " "
    return f"{before}{' '.join(runs)}{'' if begins or is_unspaced(runs[-1]) else ' '}"


def _span_of(text: str, phrase: Phrase) -> tuple[int, int] | None:
    """Return where the phrase stands in the text as it was written, in whole words but in scripts without blanks."""
    runs, starts, size = list(RUN.finditer(text)), list[int](), 1
    folds = [folded(run[0]) for run in runs]
    for fold in folds:
        starts.append(size)
        size += len(fold) + 1
    place = f" {' '.join(folds)} ".find(phrase.line)
    if place < 0:
        return None
    bare = phrase.line.strip()
    first = place + phrase.line.index(bare)
    last = first + len(bare)
    from_run, to_run = bisect_right(starts, first) - 1, bisect_right(starts, last - 1) - 1
    start, end = runs[from_run].start() + first - starts[from_run], runs[to_run].end()
    if is_unspaced(folds[to_run]):
        end = min(end, runs[to_run].start() + last - starts[to_run])
    return start, end
