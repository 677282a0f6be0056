"""How alike texts are, by a client that the app gives: one vector for each text, and the cosine of two.

A vector is kept beside its text in few bytes, because a memory is one small record: of a long one only the signs, which
order texts nearly as the whole does, of a short one each number in a byte. It names its model and its size. Vectors of
other models are not compared with: their texts are embedded again.
"""

from __future__ import annotations

import asyncio
import base64
import inspect
import math
import struct
from collections.abc import Sequence
from operator import mul
from typing import Any

from agent_framework import SupportsGetEmbeddings
from pydantic import BaseModel, ConfigDict

from hosting.errors import ConfigurationError

MOST_WHOLE_NUMBERS = 256
"""A vector of more numbers than this is kept as their signs."""
_SMALLEST, _GREATEST = 1e-30, 1e30
"""Of the largest number of a vector: a number of four bytes holds what is computed with it."""
MOST_CHARACTERS = 4000
"""Of a text that is compared with others, unless the caller says otherwise."""


class Vector(BaseModel):
    """Where a text stands among others, as a model says: `size` numbers, in base64 of a byte or a bit for each."""

    model_config = ConfigDict(frozen=True, extra="allow")

    model: str
    size: int
    numbers: str

    def is_of(self, model: str, size: int) -> bool:
        """Return whether it can be compared with vectors of this model and size."""
        return (self.model, self.size) == (model, size)


class Embedder:
    """A client of embeddings that an app gives as `name`, which has `seconds` for each answer.

    Of a text it gets `most_characters`. Raises `ConfigurationError` for one that gives no embeddings.
    """

    def __init__(
        self,
        client: SupportsGetEmbeddings[Any, Any, Any],
        name: str,
        seconds: float = 5.0,
        most_characters: int = MOST_CHARACTERS,
    ) -> None:
        if inspect.isclass(client):
            raise ConfigurationError(f"{name} is the class {client.__name__!r:.80}. Give an instance of it.")
        if not callable(getattr(client, "get_embeddings", None)):
            raise ConfigurationError(
                f"{name} is {client!r:.80}, which has no get_embeddings. Give an embedding client, such as "
                "agent_framework_openai.OpenAIEmbeddingClient."
            )
        self._client = client
        self._seconds = seconds
        self._most_characters = most_characters

    @property
    def model(self) -> str:
        """The model as the client says it before its first answer; the name of its class where it says none."""
        return str(getattr(self._client, "model", None) or type(self._client).__name__)

    async def embedded(self, texts: Sequence[str]) -> list[tuple[str, Sequence[float]]]:
        """Return a model's name and its vector for each text.

        Raises whatever the client does, `TimeoutError`, and `ValueError` for what is no vector or has no direction.
        """
        asked = self._client.get_embeddings([text[: self._most_characters] for text in texts])
        answered = await asyncio.wait_for(asked, self._seconds)
        if len(answered) != len(texts):
            raise ValueError(f"{len(answered)} embeddings for {len(texts)} texts")
        model = str(getattr(self._client, "model", None) or "")
        vectors = [[float(number) for number in embedding.vector] for embedding in answered]
        for vector in vectors:
            _largest(vector)
        return [(str(embedding.model or model), vector) for embedding, vector in zip(answered, vectors, strict=True)]


def packed(model: str, numbers: Sequence[float]) -> Vector:
    """Return a vector in its stored form. Raises `ValueError` for a vector without a direction."""
    most = _largest(numbers)
    if len(numbers) <= MOST_WHOLE_NUMBERS:
        kept = struct.pack(f"{len(numbers)}b", *(round(127 * number / most) for number in numbers))
    else:
        bits = "".join("1" if number > 0 else "0" for number in numbers)
        kept = int(bits, 2).to_bytes((len(numbers) + 7) // 8, "big")
    return Vector(model=model, size=len(numbers), numbers=base64.b64encode(kept).decode())


def cosines(numbers: Sequence[float], others: Sequence[Vector]) -> list[float]:
    """Return how alike a vector is to each of the others, which have its size: 1 for the same direction.

    Raises `ValueError` for one without a direction.
    """
    _largest(numbers)
    length = math.hypot(*numbers)
    return [sum(map(mul, numbers, other)) / (length * math.hypot(*other)) for other in map(_unpacked, others)]


def _largest(numbers: Sequence[float]) -> float:
    most = max(map(abs, numbers), default=0.0)
    if not _SMALLEST < most < _GREATEST or math.isnan(sum(numbers)):
        raise ValueError(f"an embedding of {len(numbers)} numbers that has no direction")
    return most


def _unpacked(vector: Vector) -> Sequence[int]:
    kept = base64.b64decode(vector.numbers)
    if vector.size <= MOST_WHOLE_NUMBERS:
        return struct.unpack(f"{vector.size}b", kept)
    bits = format(int.from_bytes(kept, "big"), f"0{vector.size}b")
    return [1 if bit == "1" else -1 for bit in bits]
