"""The pack on services on a local host that is killed by kill -9: ours by its protocols, and upstream's package."""

from __future__ import annotations

import asyncio
import importlib.util
import shutil
import sys
from pathlib import Path

import httpx
import pytest

from conformance.__main__ import ADAPTERS, ALL_CHECKS
from conformance.trial import Result, Trial, result_of
from tests.conformance.kept import UPSTREAM
from tests.support.running_host import RunningHost

HERE = Path(__file__).resolve().parent
ENVIRON = {"LEASE_SECONDS": "1"}

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="kills by SIGKILL"),
]


class KilledHost:
    """An app on a local host that is killed, and started again at its port."""

    def __init__(self, app: Path, folder: Path) -> None:
        self.folder = shutil.copytree(app, folder / "app")
        self.host = RunningHost(self.folder, environ=ENVIRON)

    async def kill(self) -> None:
        """SIGKILL, and a start."""
        await asyncio.to_thread(self._kill)

    def _kill(self) -> None:
        port = self.host.origin.rpartition(":")[2]
        self.host.__exit__()
        self.host = RunningHost(self.folder, "--port", port, environ=ENVIRON)


async def tried(app: str, folder: Path, adapter: str, path: str) -> list[Result]:
    """Make every check of an app through an adapter."""
    killed = await asyncio.to_thread(KilledHost, HERE / app, folder)
    try:
        async with httpx.AsyncClient(base_url=f"{killed.host.origin}{path}", timeout=30.0) as http:
            service = ADAPTERS[adapter](http, "Assistant")
            owners = [{"x-user": "ada"}, {"x-user": "bob"}]
            trial = Trial(
                service,
                "hello",
                "slow",
                "refund",
                owners,
                killed.kill,
                work="work",
                tool="lookup",
                ask="ask",
                edit="edit",
            )
            return [await result_of(check, trial) for check in ALL_CHECKS]
    finally:
        await asyncio.to_thread(killed.host.__exit__)


KEYS = {"key.again", "key.at-once", "key.reused", "key.broken", "kill.key"}
STREAMS = {"stream.resumed", "stream.again", "kill.stream"}
OURS = {"steer.once", "client-tool.once", "kill.client-tool"}
EDITS = {"approval.edited", "kill.edited", "ask.schema"}
ASKS = {"ask.once", "kill.ask"}
DELETING = {"delete.gone", "delete.running", "delete.again", "owners.change"}


@pytest.mark.behaviour("conformance.ours")
@pytest.mark.parametrize(
    ("adapter", "path", "unoffered"),
    [
        ("ours", "/api", set()),
        ("responses", "/api/openai/v1", {*KEYS, *ASKS, *EDITS, "steer.once", "state.version"}),
        ("a2a", "/api/a2a/Assistant/", {*KEYS, *STREAMS, *DELETING, *OURS, "state.version"}),
        (
            "ag-ui",
            "/api/ag-ui/Assistant",
            {check.name for check in ALL_CHECKS} - {*ASKS, "approval.once", "kill.approval"},
        ),
    ],
)
async def test_the_app_passes_every_check_that_its_protocol_has(
    adapter: str, path: str, unoffered: set[str], tmp_path: Path
) -> None:
    """With two owners, a tool that waits for a person, and a kill for each promise over one."""
    results = await tried("app", tmp_path, adapter, path)

    assert {result.check.name for result in results if result.outcome == "not offered"} == unoffered
    assert [result for result in results if result.outcome in ("failed", "not tried")] == []


@pytest.mark.behaviour("conformance.fair")
@pytest.mark.skipif(
    importlib.util.find_spec("agent_framework_azurefunctions") is None,
    reason="agent-framework-azurefunctions is not installed: it asks for azure-functions below 2, "
    "which Python 3.13 and later do not take",
)
async def test_upstreams_package_fails_nothing_that_it_offers(tmp_path: Path) -> None:
    """It keeps a session's order and document, and a kill ends no run of it."""
    results = await tried("upstream_app", tmp_path, "upstream", "")
    offered = {result.check.name: result.outcome for result in results if result.outcome != "not offered"}

    assert offered == UPSTREAM
