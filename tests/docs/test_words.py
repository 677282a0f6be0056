"""The words of pages and messages: one for each thing, as the field has it (docs/reference/glossary.md)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.messages import SOURCES, messages

ROOT = Path(__file__).parents[2]
PLACES = (
    "*.md",
    "docs/**/*.md",
    "samples/README.md",
    "samples/*/README.md",
    "packages/new_app/*.md",
    "packages/*/skills/**/*.md",
)
PAGES = sorted(path for place in PLACES for path in ROOT.glob(place))

# Words of a private dialect, and what to say instead. Others of that dialect ("look", "ask", "place", "line", "call",
# "whole") are plain English in other senses too, which only a reader can see: of them, what is never meant otherwise.
INSTEAD = {
    r"conversation id": "thread id",
    r"record of a run": "event",
    r"told|tells?|telling": "say, return, log, print, distinguish",
    r"heard|hears?": "get, see",
    r"said": "printed, returned, logged",
    r"settle[sd]?": "complete, fail, decide",
    r"doom(?:ed|s)?": "expire, fail",
    r"surroundings": "environment",
    r"speech": "delta, text",
    r"whoever|who wants": "you, the client, the process that",
    r"goes? on where it (?:was|broke off)": "continues, resumes",
    r"(?:by|with|in) (?:a|one) sentence": "and says why; with a message",
    r"in (?:the place of|its place|their place)": "instead of, instead",
    r"who ask(?:s|ed)|(?:some|any|no)body asks": "the caller, you",
    r"is asked before|are asked for besides|network is asked": "is called, is required",
}
# Words of the dialect that only pages are without so far: each stands where a noun belongs.
NOUNS_INSTEAD = {
    r"nobody|somebody|whoever": "no process, another caller, the person, you",
    r"whose|whom": "the noun again, in a sentence of its own",
    r"such(?! as\b)": "this, or the noun",
    r"ones? (?:that|which|who)": "the noun",
    r"but for": "except",
    r"be it|of which|in silence": "a sentence of its own",
}
VAGUE = re.compile("|".join(rf"\b(?:{words})\b" for words in NOUNS_INSTEAD), re.IGNORECASE)
MOST_WORDS = 30
"""What a sentence may have: a longer one is read twice. A name in backquotes is one word."""
NO_SENTENCE = re.compile(r"<!DOCTYPE|redis\.call|\b(?:SELECT|CREATE TABLE|INSERT INTO|PRIMARY KEY)\b")
FOR_MODELS = {"hosting/features/memory/provider.py"}
"""Instructions that a model reads."""
DIALECT = re.compile("|".join(rf"\b(?:{words})\b" for words in INSTEAD), re.IGNORECASE)


def prose(markdown: str) -> str:
    """Return a page without its code, and with as many lines."""
    without_blocks = re.sub(r"^```.*?^```$", lambda block: "\n" * block[0].count("\n"), markdown, flags=re.M | re.S)
    without_indented = re.sub(r"^ {4}\S.*$", "", without_blocks, flags=re.M)
    return re.sub(r"`[^`\n]*`|\]\([^)]*\)", "", without_indented)


def sentences(markdown: str) -> Iterator[str]:
    """Yield the sentences of a page: of its paragraphs, list items and cells, each over as many lines as it has."""
    text = re.sub(r"\[([^\]]*)\]", r"\1", prose(re.sub(r"`[^`\n]+`(?!`)", "name", markdown)))
    text = re.sub(r"^(?:[-*]|\d+\.|>|#+.*|<!--.*|\|)|\|", "\n\n", text, flags=re.MULTILINE)
    for block in re.split(r"\n\s*\n", text):
        yield from re.split(r"(?<=[.!?:])\W*\s", " ".join(block.split()))


def faults(page: Path) -> list[str]:
    """Return the long sentences of a page, and those with a word that stands for a noun."""
    found = sentences(page.read_text(encoding="utf-8"))
    return [line for line in found if len(words_in(line)) > MOST_WORDS or VAGUE.search(line)]


def words_in(sentence: str) -> list[str]:
    """Return the words of a sentence; signs and numbers are none."""
    return re.findall(r"[^\W\d][\w'’-]*", sentence)


@pytest.mark.behaviour("docs.plain")
def test_every_page_has_short_sentences_and_says_its_nouns() -> None:
    """No sentence that is read twice, and no pronoun in place of a noun."""
    assert [f"{page.relative_to(ROOT)}: {fault}" for page in PAGES for fault in faults(page)] == []


@pytest.mark.behaviour("docs.plain")
@pytest.mark.behaviour("docs.words")
def test_no_message_has_a_long_sentence_or_a_word_of_the_dialect() -> None:
    """What the app and the local host print, log or return. The offline model speaks as a person does."""
    found = [
        f"{path.relative_to(ROOT)}:{line}: {text}"
        for path in SOURCES
        for name in [path.relative_to(ROOT).as_posix()]
        for line, text in messages(path)
        if (is_long(text) and name not in FOR_MODELS) or (DIALECT.search(text) and name != "hosting/offline/answers.py")
    ]

    assert found == []


def is_long(text: str) -> bool:
    """Tell whether a message has a sentence that is read twice."""
    if len(text.split()) <= MOST_WORDS or NO_SENTENCE.search(text):
        return False
    return any(len(words_in(sentence)) > MOST_WORDS for sentence in sentences(text))


@pytest.mark.behaviour("docs.words")
def test_no_page_has_a_word_of_the_dialect() -> None:
    """In its sentences; code is as its language has it."""
    found = [
        f"{page.relative_to(ROOT)}:{number}: {word}"
        for page in PAGES
        for number, line in enumerate(prose(page.read_text(encoding="utf-8")).splitlines(), 1)
        for word in DIALECT.findall(line)
    ]

    assert found == []
