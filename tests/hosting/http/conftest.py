"""The browser that the tests of the page share, imported by them alone, and the host that several files of them do."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.support.receiver import WEBHOOKS
from tests.support.running_host import ROOT, RunningHost


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def shared_browser() -> AsyncIterator[None]:
    """One Chromium for the whole session; each test has a profile of its own in it."""
    from tests.hosting.http.browsed_page import sharing_browser

    async with sharing_browser():
        yield


@pytest.fixture(scope="session")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningHost]:
    """One local host, whose app sends webhooks, for the tests that leave it alone."""
    environ = {name: value for name, value in WEBHOOKS.items() if name != "AGENT_LOG"}
    app = ROOT / "tests" / "hosting" / "http" / "page_app"
    with RunningHost(Path(shutil.copytree(app, tmp_path_factory.mktemp("page") / "app")), environ=environ) as host:
        yield host


@pytest.fixture(scope="session")
def gates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the files that let tools of the app that asks go on."""
    return tmp_path_factory.mktemp("gates")


@pytest.fixture(scope="session")
def asking(tmp_path_factory: pytest.TempPathFactory, gates: Path) -> Iterator[RunningHost]:
    """One local host of the app that asks."""
    app = ROOT / "tests" / "hosting" / "http" / "asking_app"
    folder = shutil.copytree(app, tmp_path_factory.mktemp("asking") / "app")
    with RunningHost(Path(folder), environ={"GATES": str(gates)}) as host:
        yield host
