"""The app behind a real socket, and the protocol's own packages."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tests.support.carriers import APP, Api, socket_api
from tests.support.node_packages import RegistryUnreachableError, install
from tests.support.running_host import RunningHost

HERE = Path(__file__).parent
SCRIPTS = ("read.mjs", "conformance.test.mjs")


@pytest.fixture(scope="session")
def node_modules(pytestconfig: pytest.Config) -> Path:
    """The folder with the packages and our scripts beside them; tests are skipped without npm's registry."""
    try:
        folder = install(HERE / "node", Path(pytestconfig.cache.mkdir("durable-streams-node")), with_optional=True)
    except RegistryUnreachableError:
        pytest.skip("npm's registry cannot be reached, and the cache has no copy of the Durable Streams packages")
    for script in SCRIPTS:
        shutil.copy(HERE / script, folder)
    return folder


@pytest.fixture(scope="session")
def app_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the app, with its log. A wait for news that brings none ends after a second, not after fifteen."""
    folder = shutil.copytree(APP, tmp_path_factory.mktemp("streams") / "app")
    with (folder / "function_app.py").open("a", encoding="utf-8") as source:
        source.write("\napp._services.following._quiet_seconds = 1.0\n")
    return folder


@pytest.fixture(scope="session")
def host(app_folder: Path) -> Iterator[RunningHost]:
    with RunningHost(app_folder) as running:
        yield running


@pytest.fixture
async def api(host: RunningHost) -> AsyncIterator[Api]:
    opened = socket_api(host.origin, Path())
    async with opened.http:
        yield opened
