"""Stores that a test opens, on every backend of the run log."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from hosting.ports import RunLogStore
from tests.contracts.run_log_stores import BACKENDS, FACTORIES, OpenStore
from tests.contracts.thread_stores import ALL, Threads
from tests.contracts.thread_stores import BACKENDS as THREAD_BACKENDS
from tests.support.azurite import Azurite
from tests.support.fault_proxy import FaultProxy


@pytest.fixture
def run_log_path(tmp_path: Path) -> Path:
    """A file in a folder that does not exist yet."""
    return tmp_path / "logs" / "runs.sqlite"


@pytest.fixture(params=BACKENDS)
async def open_store(request: pytest.FixtureRequest, run_log_path: Path) -> AsyncIterator[OpenStore]:
    """Opens the logs of this test; memory has one view of them, the others as many as are opened."""
    opened: list[RunLogStore] = []
    make = FACTORIES[request.param](request)

    def open_one() -> RunLogStore:
        opened.append(make())
        return opened[-1]

    yield open_one
    for store in opened:
        await store.close()


@pytest.fixture(params=ALL)
async def threads(request: pytest.FixtureRequest) -> AsyncIterator[Threads]:
    """The threads of this test on each backend; nothing is there yet."""
    threads = Threads(request.param, THREAD_BACKENDS[request.param].new_place(request))
    yield threads
    for store in threads.opened:
        await store.close()


@pytest.fixture
def fault_proxy(azurite: Azurite) -> Iterator[FaultProxy]:
    """A way to the storage emulator on which calls fail as a test says, and Azure's limits hold."""
    with FaultProxy(azurite.origins) as proxy:
        yield proxy
