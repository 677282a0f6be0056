"""A client of embeddings that knows of a few words that they mean the same, and of all others nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agent_framework import BaseEmbeddingClient, Embedding, GeneratedEmbeddings

MEANINGS = (("dog", "terrier", "puppy"), ("tea", "drink"), ("city", "town"))


class Meanings(BaseEmbeddingClient[str, list[float], Any]):
    """Has a number for each meaning, all of them `times` over. `asked` are the texts of each call."""

    def __init__(self, times: int = 1, model: str | None = "meanings-1") -> None:
        super().__init__()
        self.model = model
        self.asked: list[list[str]] = []
        self._times = times

    async def get_embeddings(self, values: Sequence[str], *, options: Any = None) -> GeneratedEmbeddings[Any, Any]:
        """Count the words of each meaning; a text without one has a direction of its own."""
        self.asked.append(list(values))
        return GeneratedEmbeddings([Embedding(self._numbers(text)) for text in values])

    def _numbers(self, text: str) -> list[float]:
        counted = [float(sum(text.casefold().count(word) for word in words)) or -0.1 for words in MEANINGS]
        return [*counted, 0.1] * self._times
