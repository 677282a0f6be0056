"""A deterministic client of embeddings: each word of a text adds one to the number that its hash names."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from typing import Any

from agent_framework import BaseEmbeddingClient, Embedding, GeneratedEmbeddings

_WORD = re.compile(r"[a-z0-9]+")


class HashedWords(BaseEmbeddingClient[str, list[float], Any]):
    """Texts with the same words stand near each other. `asked` are the texts of each call.

    While `is_away` it fails, as a service does that cannot be reached. `answering` is the model that answers.
    """

    def __init__(self, model: str = "hashed-words-1", size: int = 256) -> None:
        super().__init__()
        self.model = self.answering = model
        self.asked: list[list[str]] = []
        self.is_away = False
        self._size = size

    async def get_embeddings(self, values: Sequence[str], *, options: Any = None) -> GeneratedEmbeddings[Any, Any]:
        """Return the vectors of the texts."""
        if self.is_away:
            raise ConnectionError("The service cannot be reached.")
        self.asked.append(list(values))
        return GeneratedEmbeddings([Embedding(self._numbers(text), model=self.answering) for text in values])

    def _numbers(self, text: str) -> list[float]:
        numbers = [0.0] * self._size
        numbers[0] = 0.01
        for word in _WORD.findall(text.casefold()):
            numbers[int(hashlib.sha256(f"{self.answering} {word}".encode()).hexdigest(), 16) % self._size] += 1.0
        return numbers
