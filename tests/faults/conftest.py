"""What hosts that are killed run: an app in a folder of its own, over each of the run logs."""

import uuid
from pathlib import Path

import pytest

from tests.contracts.azurite import Azurite
from tests.contracts.redis_server import RedisServer
from tests.faults.app_process import AppFolder


@pytest.fixture
def folder(tmp_path: Path) -> AppFolder:
    """A fresh copy of the app under test."""
    return AppFolder(tmp_path)


@pytest.fixture(scope="module", params=["sqlite", "redis", "blob"])
def run_log_settings(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The settings that name a run log that several processes may share."""
    if request.param == "sqlite":
        return {"AGENT_RUN_LOG": f"sqlite:{tmp_path_factory.mktemp(uuid.uuid4().hex) / 'runs.sqlite'}"}
    if request.param == "redis":
        redis_server: RedisServer = request.getfixturevalue("redis_server")
        return {"AGENT_RUN_LOG": redis_server.url}
    azurite: Azurite = request.getfixturevalue("azurite")
    return {"AGENT_RUN_LOG": "blob", "AzureWebJobsStorage": azurite.connection_string}
