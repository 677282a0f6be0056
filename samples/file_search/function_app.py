"""An agent that answers from files: it searches them, and cites what it takes from them."""

import hashlib
import os
import re
from collections.abc import Sequence
from typing import Any

from agent_framework import Agent, BaseEmbeddingClient, Embedding, GeneratedEmbeddings

from agents.models import create_chat_client
from hosting.app import AgentFunctionApp, FileSearch

SIZE = 256


class WordCounts(BaseEmbeddingClient[str, list[float], Any]):
    """Texts with the same words stand near each other. A real client knows meanings: OpenAIEmbeddingClient, say."""

    model = "word-counts"

    async def get_embeddings(self, values: Sequence[str], *, options: Any = None) -> GeneratedEmbeddings[Any, Any]:
        """Return the vectors of the texts."""
        return GeneratedEmbeddings([Embedding(counted(text), model=self.model) for text in values])


def counted(text: str) -> list[float]:
    """Return how often the words of a text come, each at a place that its hash names."""
    numbers = [0.01] * SIZE
    for word in re.findall(r"\w+", text.casefold()):
        numbers[int(hashlib.sha256(word.encode()).hexdigest(), 16) % SIZE] += 1
    return numbers


librarian = Agent(
    client=create_chat_client(os.environ),
    name="librarian",
    description="Answers from files.",
    instructions="Answer from the files, and cite them.",
    context_providers=[FileSearch(embeddings=WordCounts())],
)

app = AgentFunctionApp(agents=[librarian])
