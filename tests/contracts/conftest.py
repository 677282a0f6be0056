"""Stores that a test opens, on every backend of the log."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest

from tests.contracts.thread_stores import ALL, BACKENDS, Threads
from tests.support.azurite import Azurite
from tests.support.fault_proxy import FaultProxy


@pytest.fixture(params=ALL)
async def threads(request: pytest.FixtureRequest) -> AsyncIterator[Threads]:
    """The threads of this test on each backend; nothing is there yet."""
    threads = Threads(request.param, BACKENDS[request.param].new_place(request))
    yield threads
    for store in threads.opened:
        await store.close()


@pytest.fixture
def fault_proxy(azurite: Azurite) -> Iterator[FaultProxy]:
    """A way to the storage emulator on which calls fail as a test says, and Azure's limits hold."""
    with FaultProxy(azurite.origins) as proxy:
        yield proxy
