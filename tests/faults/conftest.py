"""What hosts that are killed run: an app in a folder of its own, and where it keeps its threads."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from hosting.testing.agent_app import AppHosts
from tests.faults.app_process import AppFolder
from tests.faults.killed_app import KilledApp, Row
from tests.support.app_folder import make_app
from tests.support.carriers import APP
from tests.support.kept_in import settings_of
from tests.support.marked_app import Notes, start_warm
from tests.support.running_host import ROOT


@pytest.fixture
def stores(request: pytest.FixtureRequest) -> dict[str, str]:
    """The settings of the kind of stores that a test names as its parameter, files where it names none."""
    return settings_of(getattr(request, "param", "sqlite"), request)


@pytest.fixture
def folder(tmp_path: Path, stores: dict[str, str]) -> AppFolder:
    """A fresh copy of the app under test."""
    return AppFolder(tmp_path, stores)


@pytest.fixture
def row(request: pytest.FixtureRequest, stores: dict[str, str], tmp_path: Path) -> Row:
    """The row that a test names as its parameter, with an app of its own."""
    scenario, point = request.param
    return Row(scenario, point, KilledApp(tmp_path, stores, scenario.source, **scenario.environ))


@pytest.fixture(scope="session")
def _agent_app_hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AppHosts]:
    hosts = AppHosts(tmp_path_factory.mktemp("agent-app"), start_warm)
    yield hosts
    hosts.end_all()


@pytest.fixture(scope="module")
def kept(request: pytest.FixtureRequest) -> dict[str, str]:
    """As `stores`, for all marked tests of a module, which share their host."""
    return settings_of(getattr(request, "param", "sqlite"), request)


@pytest.fixture(scope="module")
def agent_app_folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The app of marked tests, whose source is their parameter."""
    host = json.loads((APP / "host.json").read_text(encoding="utf-8"))
    return make_app(tmp_path_factory.mktemp("marked"), request.param, host=host)


@pytest.fixture
def notes(agent_app_folder: Path) -> Notes:
    """What the tools of a marked test note."""
    path = agent_app_folder / "notes.txt"
    path.write_text("", encoding="utf-8")
    return Notes(path)


@pytest.fixture
def agent_app_settings(kept: dict[str, str], notes: Notes) -> Mapping[str, str]:
    """The stores of a marked test, and this project on Python's path."""
    return {**kept, "NOTES": str(notes.path), "PYTHONPATH": str(ROOT)}
