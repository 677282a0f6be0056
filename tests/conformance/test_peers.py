"""The pack on packages of others that pip and npm bring, each in a process of its own.

Such a process is killed for what its package says to keep over that, and for nothing else.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import httpx
import pytest

from conformance.__main__ import ADAPTERS, ALL_CHECKS
from conformance.trial import Trial
from tests.conformance.at_once import made_at_once
from tests.conformance.kept import AG_UI, FOUNDRY, FOUNDRY_KILLS, LANGGRAPH
from tests.support.node_packages import RegistryUnreachableError, install
from tests.support.pages import ROOT
from tests.support.python_packages import CHAT_CLIENT, FOUNDRY_HOSTING, LANGGRAPHS_SERVER, installed
from tests.support.running_host import RunningHost

HERE = Path(__file__).parent
SAYS = ("for ada", "for bob")
OF_LANGGRAPH: Mapping[str, Any] = {
    "adapter": "langgraph",
    "owner_header": "x-user",
    "behalf": "behalf",
    "is_at_once": False,
}
"""Beside runs of others it loses one of two messages that join a run at once."""

pytestmark = [pytest.mark.slow, pytest.mark.behaviour("conformance.fair")]


class Peer:
    """A module that serves at an address, is killed, and served there again."""

    def __init__(self, module: str, packages: Path, folder: Path) -> None:
        self._module = module
        self._folder = folder
        path = os.pathsep.join([str(packages), str(ROOT)])
        self._environ = {"PYTHONPATH": path, "STEPS": str(folder), "AGENTSERVER_STATE_ROOT": str(folder / "state")}
        self.host = self._started("0")

    def _started(self, port: str) -> RunningHost:
        return RunningHost(self._folder, port, module=self._module, environ=self._environ)

    async def kill(self) -> None:
        """SIGKILL, and a start."""
        await asyncio.to_thread(self._kill)

    def _kill(self) -> None:
        self.host.__exit__()
        self.host = self._started(self.host.origin.rpartition(":")[2])

    async def offered(
        self,
        adapter: str,
        owner_header: str,
        kept: Collection[str] = (),
        *,
        tool: str = "",
        behalf: str = "",
        is_at_once: bool = True,
    ) -> Mapping[str, str]:
        """Make every check, and return the outcomes of what is offered. `kept` are those for which it is killed.

        `tool` and `behalf` are messages of peers that have a way for it. Unless `is_at_once` each check is made alone.
        """
        tokens = {name: f"Bearer token.{name}.signed-by-the-post-for-{name}" for name in ("ada", "bob")}
        owners = [{owner_header: name, "authorization": token} for name, token in tokens.items()]
        rounds = [[check] for check in ALL_CHECKS]
        if is_at_once:
            rounds = [[check for check in ALL_CHECKS if (check.name in kept) is kills] for kills in (False, True)]
        outcomes = {}
        try:
            async with httpx.AsyncClient(base_url=self.host.origin, timeout=30.0) as http:
                service = ADAPTERS[adapter](http, "Assistant")
                for checks in rounds:
                    kill = self.kill if all(check.name in kept for check in checks) else None
                    trial = Trial(
                        *(service, "hello", "slow", "refund", owners, kill),
                        says=SAYS,
                        ask="ask",
                        long="long",
                        limit=2.0,
                        tool=tool,
                        behalf=behalf,
                    )
                    for result in await made_at_once(checks, trial):
                        outcomes[result.check.name] = result.outcome
                        print(f"{result.check.name}: {result.outcome}, {result.evidence}")  # shown where the test fails
        finally:
            await asyncio.to_thread(self.host.__exit__)
        return {name: outcome for name, outcome in outcomes.items() if outcome != "not offered"}


PEERS: Mapping[str, tuple[Collection[str], Mapping[str, Any], Mapping[str, str]]] = {
    "ag_ui_peer": (CHAT_CLIENT, {"adapter": "ag-ui", "owner_header": "x-user"}, AG_UI),
    "foundry_peer": (
        FOUNDRY_HOSTING,
        {"adapter": "foundry", "owner_header": "x-agent-user-id", "kept": FOUNDRY_KILLS, "tool": "lookup"},
        FOUNDRY,
    ),
    "langgraph_peer": (LANGGRAPHS_SERVER, OF_LANGGRAPH, LANGGRAPH),
}
"""By the module that serves: the packages that it needs, how it is tried, and what was found.

Agent Framework's endpoint of AG-UI and LangGraph's server keep threads in memory, and say so: they are never killed.
Foundry's hosting takes a second decision on a call, and a second result; it says that it recovers no run.
"""


@pytest.mark.parametrize(
    "module", ["ag_ui_peer", "foundry_peer", pytest.param("langgraph_peer", marks=pytest.mark.explore)]
)
async def test_a_service_of_others_keeps_what_was_found(
    module: str, pytestconfig: pytest.Config, tmp_path: Path
) -> None:
    needed, given, found = PEERS[module]
    packages = installed(Path(pytestconfig.cache.mkdir(module)), *needed)
    peer = await asyncio.to_thread(Peer, f"tests.conformance.{module}", packages, tmp_path)

    assert await peer.offered(**given) == found


@pytest.mark.explore
@pytest.mark.skipif(sys.platform == "win32", reason="the process becomes another one")
async def test_langgraphs_server_of_npm_keeps_the_same(pytestconfig: pytest.Config, tmp_path: Path) -> None:
    """It is a program of its own, and speaks the same protocol. It calls itself in-memory too."""
    try:
        packages = install(HERE / "node", Path(pytestconfig.cache.mkdir("langgraph-node")), with_optional=True)
    except RegistryUnreachableError:
        pytest.skip("npm's registry cannot be reached, and the cache has no copy of LangGraph.js")
    shutil.copy(HERE / "langgraph_js_peer.mjs", tmp_path)
    (tmp_path / "node_modules").symlink_to(packages / "node_modules")
    peer = await asyncio.to_thread(Peer, "tests.conformance.langgraph_js_peer", packages, tmp_path)

    assert await peer.offered(**OF_LANGGRAPH) == LANGGRAPH
