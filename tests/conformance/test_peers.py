"""The pack on packages of others that pip brings, each in a process of its own, which is never killed.

They keep what they know in memory, and say so: a kill would try what nobody promised.
"""

from __future__ import annotations

import os
from pathlib import Path

import httpx
import pytest

from conformance.__main__ import ADAPTERS, ALL_CHECKS
from conformance.trial import Trial, result_of
from tests.support.pages import ROOT
from tests.support.python_packages import CHAT_CLIENT, installed
from tests.support.running_host import RunningHost

pytestmark = [pytest.mark.slow, pytest.mark.behaviour("conformance.fair")]


async def offered(adapter: str, module: str, packages: Path, folder: Path) -> dict[str, str]:
    """Make every check of a service that a module serves, and return the outcomes of what it offers."""
    path = os.pathsep.join([str(packages), str(ROOT)])
    with RunningHost(folder, module=module, environ={"PYTHONPATH": path}) as host:
        async with httpx.AsyncClient(base_url=host.origin, timeout=30.0) as http:
            owners = [{"x-user": "ada"}, {"x-user": "bob"}]
            trial = Trial(ADAPTERS[adapter](http, "Assistant"), "hello", "slow", "refund", owners)
            results = [await result_of(check, trial) for check in ALL_CHECKS]
    return {result.check.name: result.outcome for result in results if result.outcome != "not offered"}


async def test_agent_frameworks_endpoint_of_ag_ui_fails_nothing_that_it_offers(
    pytestconfig: pytest.Config, tmp_path: Path
) -> None:
    """It replays a thread to its owner, and takes one decision on a call."""
    packages = installed(Path(pytestconfig.cache.mkdir("ag-ui-python")), *CHAT_CLIENT)

    assert await offered("ag-ui", "tests.conformance.ag_ui_peer", packages, tmp_path) == {
        **dict.fromkeys(("approval.once", "owners.read"), "passed"),
        **dict.fromkeys(("kill.running", "kill.conversation", "kill.approval"), "not tried"),
    }
