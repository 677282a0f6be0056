"""An app with the wire."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.support.ag_ui import Wired


@pytest.fixture
async def wired() -> AsyncIterator[Wired]:
    """One process of the app, with its log in memory."""
    wired = Wired()
    async with wired.http:
        yield wired


@pytest.fixture(scope="module")
def refusing() -> Wired:
    """One process for all requests that are refused: they leave nothing in it."""
    return Wired()
