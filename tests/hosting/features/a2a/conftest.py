"""An app with the wire."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.hosting.features.a2a.wired import Wired
from tests.support.receiver import WEBHOOKS, Receiver, receiving


@pytest.fixture
async def wired() -> AsyncIterator[Wired]:
    """One process of the app, with its log in memory."""
    wired = Wired()
    async with wired.http:
        yield wired


@pytest.fixture
async def pushing() -> AsyncIterator[Wired]:
    wired = Wired(WEBHOOKS)
    async with wired.http:
        yield wired


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    async with receiving() as opened:
        yield opened


@pytest.fixture(scope="module")
def refusing() -> Wired:
    """One process for all requests that are refused: they leave nothing in it."""
    return Wired()
