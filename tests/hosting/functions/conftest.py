"""The clerk's app, called without a host."""

from collections.abc import AsyncIterator

import pytest

from tests.support.desk import Desk


@pytest.fixture
async def desk() -> AsyncIterator[Desk]:
    """One process of the app, with its log in memory."""
    desk = Desk()
    async with desk.http:
        yield desk
