"""An app with the wire, and its clients."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.support.mcp_wire import ASKS, HANDSHAKE, STATELESS, Session, Wired


@pytest.fixture
async def wired() -> AsyncIterator[Wired]:
    """One process of the app, with its log in memory."""
    wired = Wired()
    async with wired.http:
        yield wired


@pytest.fixture(params=[HANDSHAKE, STATELESS])
async def session(wired: Wired, request: pytest.FixtureRequest) -> Session:
    """A client of either kind of version, whose person answers questions."""
    session = Session(wired.http, request.param, ASKS)
    if session.version == HANDSHAKE:
        await session.begin()
    return session


@pytest.fixture
async def handshake(wired: Wired) -> Session:
    """A client of a version with a handshake, whose person answers questions."""
    session = Session(wired.http, HANDSHAKE, ASKS)
    await session.begin()
    return session


@pytest.fixture(scope="module")
def refusing() -> Wired:
    """One process for all requests that are refused: they leave nothing in it."""
    return Wired()
