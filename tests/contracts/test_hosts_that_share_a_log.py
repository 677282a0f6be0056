"""The app on two local hosts with engines of their own and one log, as two instances have it on Azure."""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.support.azurite import Azurite
from tests.support.redis_server import RedisServer
from tests.support.running_host import ROOT, RunningHost

pytestmark = pytest.mark.slow


@pytest.fixture(params=["redis", "tables on Azure"])
def shared_log(request: pytest.FixtureRequest) -> dict[str, str]:
    """The settings of either backend; on Azure the log in tables needs no setting of its own."""
    if request.param == "redis":
        server: RedisServer = request.getfixturevalue("redis_server")
        return {"AGENT_LOG": server.url}
    emulator: Azurite = request.getfixturevalue("azurite")
    account = {"AzureWebJobsStorage": emulator.connection_string}
    return {**account, "WEBSITE_SITE_NAME": "agents"}


@pytest.fixture
def hosts(tmp_path: Path, shared_log: dict[str, str]) -> Iterator[list[str]]:
    """Addresses of two hosts of the app, each in a folder of its own."""
    folders = [tmp_path / "one", tmp_path / "two"]
    for folder in folders:
        folder.mkdir()
        for name in ("function_app.py", "host.json"):
            shutil.copy(ROOT / name, folder)
    with RunningHost(folders[0], environ=shared_log) as one, RunningHost(folders[1], environ=shared_log) as two:
        yield [one.origin, two.origin]


@pytest.mark.behaviour("turn.log-is-shared")
def test_a_run_is_seen_and_repeated_at_another_host(hosts: list[str]) -> None:
    """Its status is there at once, and its idempotency key answers with the same run instead of a second one."""
    here, there = hosts
    requested = {"json": {"message": "hello"}, "headers": {"Idempotency-Key": uuid.uuid4().hex}, "timeout": 20}
    answered = httpx.post(f"{here}/api/agents/assistant/run", **requested).json()
    place = f"/api/agents/assistant/threads/{answered['thread_id']}/runs/{answered['run_id']}"

    status = httpx.get(there + place, timeout=20).json()
    repeated = httpx.post(f"{there}/api/agents/assistant/run", **requested).json()

    assert (status["status"], status["response"]) == ("success", answered["response"])
    assert (repeated["run_id"], repeated["response"]) == (answered["run_id"], answered["response"])
