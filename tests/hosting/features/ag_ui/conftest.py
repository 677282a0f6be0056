"""An app with the wire."""

from __future__ import annotations

import pytest

from tests.support.ag_ui import Wired


@pytest.fixture
def wired() -> Wired:
    return Wired()


@pytest.fixture
def open_wired() -> Wired:
    """One whose agents take tools of their clients."""
    return Wired(client_tools=True)


@pytest.fixture(scope="module")
def refusing() -> Wired:
    """One for all requests that are refused: they leave nothing in it."""
    return Wired()
