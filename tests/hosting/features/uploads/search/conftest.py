"""A process that reads files starts for each text once: hundreds of jobs of these tests read the same few."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator

import pytest

from hosting.features.uploads.search import jobs
from hosting.features.uploads.search.texts.extract import extracted
from hosting.features.uploads.search.texts.limits import TextLimits, TextPiece

_PIECES: dict[tuple[bytes, str, str], list[TextPiece]] = {}


async def _read_once(
    parts: AsyncIterator[bytes], name: str, media_type: str, limits: TextLimits
) -> AsyncGenerator[TextPiece, None]:
    body = b"".join([part async for part in parts])

    async def again() -> AsyncIterator[bytes]:
        yield body

    key = (body, name, media_type)
    if key not in _PIECES:
        _PIECES[key] = [piece async for piece in extracted(again(), name, media_type, limits)]
    for piece in _PIECES[key]:
        yield piece


@pytest.fixture(autouse=True)
def files_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "extracted", _read_once)
