"""An app with the wire, and its clients."""

from __future__ import annotations

import pytest

from tests.support.mcp_wire import ASKS, HANDSHAKE, STATELESS, Session, Wired


@pytest.fixture
def wired() -> Wired:
    return Wired()


@pytest.fixture(params=[HANDSHAKE, STATELESS])
async def session(wired: Wired, request: pytest.FixtureRequest) -> Session:
    """A client of either kind of version, whose person answers questions."""
    return await Session(wired.http, request.param, ASKS).begun()


@pytest.fixture
async def handshake(wired: Wired) -> Session:
    """A client of a version with a handshake, whose person answers questions."""
    return await Session(wired.http, HANDSHAKE, ASKS).begun()


@pytest.fixture(scope="module")
def refusing() -> Wired:
    """One for all requests that are refused: they leave nothing in it."""
    return Wired()
