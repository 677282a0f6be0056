"""An app with the wire, and OpenAI's own client of it."""

from __future__ import annotations

import pytest

from tests.support.openai_apps import CompletionsApp


@pytest.fixture
def chats() -> CompletionsApp:
    return CompletionsApp()


@pytest.fixture
def open_chats() -> CompletionsApp:
    """One whose agents take tools of their callers."""
    return CompletionsApp(client_tools=True)


@pytest.fixture(scope="module")
def refusing() -> CompletionsApp:
    """One for all requests that are refused: they leave nothing in it."""
    return CompletionsApp()
