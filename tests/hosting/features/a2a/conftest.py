"""An app with the wire."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.hosting.features.a2a.wired import Wired
from tests.support.receiver import WEBHOOKS, Receiver, receiving


@pytest.fixture
def wired() -> Wired:
    return Wired()


@pytest.fixture
def pushing() -> Wired:
    """One that may notify receivers."""
    return Wired(WEBHOOKS)


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    async with receiving() as opened:
        yield opened


@pytest.fixture(scope="module")
def refusing() -> Wired:
    """One for all requests that are refused: they leave nothing in it."""
    return Wired()
