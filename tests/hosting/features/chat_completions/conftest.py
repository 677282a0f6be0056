"""An app with the wire, and OpenAI's own client of it."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.hosting.features.chat_completions.chats import Chats


@pytest.fixture
async def chats() -> AsyncIterator[Chats]:
    """One process of the app, with its log in memory."""
    chats = Chats()
    async with chats.http, chats.openai:
        yield chats


@pytest.fixture(scope="module")
def refusing() -> Chats:
    """One process for all requests that are refused: they leave nothing in it."""
    return Chats()
