"""The run log's backends, each as a factory: a second store is a second process's view of the same logs."""

from __future__ import annotations

import uuid
from collections.abc import Callable
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
