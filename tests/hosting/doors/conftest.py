"""One app with every door, called without a host."""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx
import pytest

from tests.support.direct import DirectHost
from tests.support.doors import DOORS, Door, all_doors, client_of
from tests.support.owned_app import signed_in


@pytest.fixture(params=DOORS, ids=lambda door: door.name)
def door(request: pytest.FixtureRequest) -> Door:
    door: Door = request.param
    return door


@pytest.fixture(scope="module")
def host() -> DirectHost:
    """The app, whose threads belong to it."""
    return DirectHost(all_doors())


@pytest.fixture(scope="module")
def owned_host() -> DirectHost:
    return DirectHost(all_doors(principal=signed_in))


@pytest.fixture
async def http(host: DirectHost) -> AsyncIterator[httpx.AsyncClient]:
    """A client of the app."""
    async with client_of(host) as http:
        yield http


@pytest.fixture
async def owned(owned_host: DirectHost) -> AsyncIterator[httpx.AsyncClient]:
    """A client of the app whose callers sign in."""
    async with client_of(owned_host) as http:
        yield http
