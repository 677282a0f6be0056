"""Hosts for the MCP tests, each started once."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import httpx
import pytest

from tests.devhost.running_host import RunningHost
from tests.mcp.exchange import raw_client

APPS = Path(__file__).parent / "apps"


@pytest.fixture(scope="session")
def offers_host() -> Iterator[RunningHost]:
    """The app that declares resources and prompts of every shape."""
    with RunningHost(APPS / "offers") as host:
        yield host


@pytest.fixture
async def client(offers_host: RunningHost) -> AsyncIterator[httpx.AsyncClient]:
    """A client of that app."""
    async with raw_client(offers_host) as client:
        yield client
