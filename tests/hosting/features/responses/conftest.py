"""An app with the wire, and OpenAI's own client of it."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.hosting.features.responses.wired import Wired


@pytest.fixture
async def open_wired() -> AsyncIterator[Wired]:
    """The same, whose agents take functions of their callers."""
    wired = Wired(client_tools=True)
    async with wired.http, wired.openai:
        yield wired


@pytest.fixture
async def wired() -> AsyncIterator[Wired]:
    """One process of the app, with its log in memory."""
    wired = Wired()
    async with wired.http, wired.openai:
        yield wired


@pytest.fixture(scope="module")
def refusing() -> Wired:
    """One process for all requests that are refused: they leave nothing in it."""
    return Wired()
