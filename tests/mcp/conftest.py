"""Hosts and clients for the MCP tests, each started once."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import httpx
import pytest

from agents.models import SETTINGS
from tests.mcp.node_packages import LOCK, NodePackages
from tests.support.mcp_exchange import PATH, raw_client
from tests.support.node_packages import RegistryUnreachableError, install
from tests.support.running_host import ROOT, RunningHost

HERE = Path(__file__).parent
WITH_SCENARIOS = "\nfrom scenarios import scenarios\n\napp.register_functions(scenarios)\n"


@pytest.fixture(scope="session")
def offers_host() -> Iterator[RunningHost]:
    with RunningHost(HERE / "apps" / "offers") as host:
        yield host


@pytest.fixture
async def client(offers_host: RunningHost) -> AsyncIterator[httpx.AsyncClient]:
    """A client of that app."""
    async with raw_client(offers_host) as client:
        yield client


@pytest.fixture(scope="session")
def template_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The MCP address of the template's own app on the local host, with what the scenarios need declared on it."""
    folder = tmp_path_factory.mktemp("template")
    source = (ROOT / "function_app.py").read_text(encoding="utf-8")
    (folder / "function_app.py").write_text(source + WITH_SCENARIOS, encoding="utf-8")
    shutil.copy(HERE / "scenarios.py", folder)
    shutil.copy(ROOT / "host.json", folder)
    with pytest.MonkeyPatch.context() as patch:
        for name in SETTINGS:
            patch.delenv(name, raising=False)
        with RunningHost(folder) as host:
            yield host.origin + PATH


@pytest.fixture(scope="session")
def endpoint_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = shutil.copytree(HERE / "apps" / "endpoint", tmp_path_factory.mktemp("endpoint") / "app")
    with RunningHost(folder) as host:
        yield f"{host.origin}/api/mcp/v1"


@pytest.fixture(scope="session")
def node_packages(pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory) -> NodePackages:
    """The Inspector and the conformance suite; without npm's registry, tests that need them are skipped."""
    try:
        folder = install(LOCK, Path(pytestconfig.cache.mkdir("mcp-node")))
    except RegistryUnreachableError:
        pytest.skip("npm's registry cannot be reached, and the cache has no copy of the MCP tools")
    return NodePackages(folder, tmp_path_factory.mktemp("node-home"))
