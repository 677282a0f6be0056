"""A file's text, read as the search reads it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing

from hosting.features.uploads.search.texts.extract import extracted
from hosting.features.uploads.search.texts.limits import TextLimits, TextPiece

_PART_BYTES = 1 << 20


async def parts_of(content: bytes) -> AsyncIterator[bytes]:
    """Give the bytes as a store does: in parts."""
    for start in range(0, len(content), _PART_BYTES):
        yield content[start : start + _PART_BYTES]


async def read_pieces(
    content: bytes, name: str = "", media_type: str = "", limits: TextLimits | None = None
) -> list[TextPiece]:
    """Return the pieces of a file's text; raises what `extracted` does."""
    async with aclosing(extracted(parts_of(content), name, media_type, limits or TextLimits())) as pieces:
        return [piece async for piece in pieces]


async def read_text(content: bytes, name: str = "", media_type: str = "") -> str:
    """Return the text of a file, whole."""
    return "".join(piece.text for piece in await read_pieces(content, name, media_type))
