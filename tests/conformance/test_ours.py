"""The pack on durable-agent-host itself, on a local host that is killed by kill -9."""

from __future__ import annotations

import asyncio
import shutil
import sys
from pathlib import Path

import httpx
import pytest

from conformance.__main__ import ALL_CHECKS
from conformance.adapters.ours import OurService
from conformance.trial import Trial, result_of
from tests.support.running_host import RunningHost

APP = Path(__file__).resolve().parent / "app"
ENVIRON = {"LEASE_SECONDS": "1"}

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="kills by SIGKILL"),
]


class KilledHost:
    """A local host that is killed, and started again at its port."""

    def __init__(self, folder: Path) -> None:
        self.folder = shutil.copytree(APP, folder / "app")
        self.host = RunningHost(self.folder, environ=ENVIRON)

    async def kill(self) -> None:
        """SIGKILL, and a start."""
        await asyncio.to_thread(self._kill)

    def _kill(self) -> None:
        port = self.host.origin.rpartition(":")[2]
        self.host.__exit__()
        self.host = RunningHost(self.folder, "--port", port, environ=ENVIRON)


@pytest.mark.behaviour("conformance.ours")
async def test_the_app_on_the_local_host_passes_every_check(tmp_path: Path) -> None:
    """With two owners, a tool that waits for a person, and a kill for each promise over one."""
    killed = await asyncio.to_thread(KilledHost, tmp_path)
    try:
        async with httpx.AsyncClient(base_url=f"{killed.host.origin}/api", timeout=30.0) as http:
            service = OurService(http, "Assistant")
            trial = Trial(service, "hello", "slow", "refund", [{"x-user": "ada"}, {"x-user": "bob"}], killed.kill)
            results = [await result_of(check, trial) for check in ALL_CHECKS]
    finally:
        await asyncio.to_thread(killed.host.__exit__)

    assert [result for result in results if result.outcome != "passed"] == []
