"""An app with the wire."""

from __future__ import annotations

import pytest

from tests.support.ai_sdk import Chats


@pytest.fixture
def chats() -> Chats:
    """One whose agents take tools of their callers."""
    return Chats(client_tools=True)


@pytest.fixture(scope="module")
def refusing() -> Chats:
    """One for all requests that are refused: they leave nothing in it."""
    return Chats(client_tools=True)
