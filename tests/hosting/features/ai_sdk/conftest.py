"""An app with the wire."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.support.ai_sdk import Chats


@pytest.fixture
async def chats() -> AsyncIterator[Chats]:
    """One process of the app, with its log in memory, whose agents take tools of their callers."""
    chats = Chats(client_tools=True)
    async with chats.http:
        yield chats


@pytest.fixture(scope="module")
def refusing() -> Chats:
    """One process for all requests that are refused: they leave nothing in it."""
    return Chats(client_tools=True)
