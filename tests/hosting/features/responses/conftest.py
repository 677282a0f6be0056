"""An app with the wire, and OpenAI's own client of it."""

from __future__ import annotations

import pytest

from tests.support.openai_apps import ResponsesApp


@pytest.fixture
def wired() -> ResponsesApp:
    return ResponsesApp()


@pytest.fixture
def open_wired() -> ResponsesApp:
    """One whose agents take functions of their callers."""
    return ResponsesApp(client_tools=True)


@pytest.fixture(scope="module")
def refusing() -> ResponsesApp:
    """One for all requests that are refused: they leave nothing in it."""
    return ResponsesApp()
