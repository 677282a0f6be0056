"""The run log backends, each as a factory: a second store is a second process's view of the same logs."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from hosting.ports import RunLogStore
from hosting.runlog.blob import BlobStore, run_log_container
from hosting.runlog.memory import MemoryStore
from hosting.runlog.redis import RedisStore
from hosting.runlog.sqlite import SqliteStore
from hosting.storage.blob_account import storage_account
from tests.support.azurite import Azurite
from tests.support.redis_server import RedisServer

OpenStore = Callable[[], RunLogStore]
EXACT_BACKENDS = ["memory", "sqlite", pytest.param("redis", marks=pytest.mark.slow)]
BACKENDS = [*EXACT_BACKENDS, pytest.param("blob", marks=pytest.mark.slow)]


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


def _memory(request: pytest.FixtureRequest) -> OpenStore:
    store = MemoryStore()
    return lambda: store


def _sqlite(request: pytest.FixtureRequest) -> OpenStore:
    path: Path = request.getfixturevalue("run_log_path")
    return lambda: SqliteStore(path)


def _redis(request: pytest.FixtureRequest) -> OpenStore:
    server: RedisServer = request.getfixturevalue("redis_server")
    server.empty()
    return lambda: RedisStore(server.url)


def _blob(request: pytest.FixtureRequest) -> OpenStore:
    emulator: Azurite = request.getfixturevalue("azurite")
    container = f"test-{uuid.uuid4().hex}"
    connect = storage_account({"AzureWebJobsStorage": emulator.connection_string})
    return lambda: BlobStore(run_log_container(connect, container))


FACTORIES: dict[str, Callable[[pytest.FixtureRequest], OpenStore]] = {
    "memory": _memory,
    "sqlite": _sqlite,
    "redis": _redis,
    "blob": _blob,
}
