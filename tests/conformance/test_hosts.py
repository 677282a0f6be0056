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
from conformance.trial import Check, Result, Trial
from tests.conformance.at_once import made_at_once
from tests.conformance.kept import UPSTREAM
from tests.support.running_host import RunningHost

HERE = Path(__file__).resolve().parent
LIMIT_SECONDS = 2
ENVIRON = {"LEASE_SECONDS": "1", "AGENT_WAIT_SECONDS": str(LIMIT_SECONDS), "AGENT_ATTEMPT_SECONDS": "1"}
OWNERS = [
    {"x-user": name, "authorization": f"Bearer token.{name}.signed-by-the-post-for-{name}"} for name in ("ada", "bob")
]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="kills by SIGKILL"),
]


class KilledHost:
    """An app on a local host that is killed, and started again at its port; a second one has the same log."""

    def __init__(self, app: Path, folder: Path) -> None:
        self.folder = shutil.copytree(app, folder / "app")
        self.log = folder / "log"
        self.log.mkdir()
        self.environ = {**ENVIRON, "AGENT_LOG": f"sqlite:{self.log / 'log.sqlite'}", "STEPS": str(folder)}
        self.host = RunningHost(self.folder, environ=self.environ)
        self.other = RunningHost(shutil.copytree(app, folder / "other"), environ=self.environ)

    async def kill(self) -> None:
        """SIGKILL, and a start."""
        await asyncio.to_thread(self._kill)

    def _kill(self) -> None:
        port = self.host.origin.rpartition(":")[2]
        self.host.__exit__()
        self.host = RunningHost(self.folder, "--port", port, environ=self.environ)

    def stop(self) -> None:
        self.host.__exit__()
        self.other.__exit__()

    async def stored(self) -> str:
        """All files of the app, but for its code."""
        files = [path for path in self.folder.parent.rglob("*") if path.is_file() and path.suffix != ".py"]
        return "\n".join(path.read_bytes().decode("utf-8", "replace") for path in files)


KILLED_AT_ONCE = (
    {"kill.running", "kill.queued", "kill.key", "kill.stream"},
    {"kill.conversation", "kill.approval", "kill.ask", "kill.pause", "kill.default", "kill.client-tool"},
)
"""What one kill hits: runs that are as slow as each other, and what waits. All others have a kill of their own."""


def rounds() -> list[list[Check]]:
    """Return all checks, each with those that are made at once with it."""
    unkilled = {check.name for check in ALL_CHECKS if not check.name.startswith("kill.")}
    sharing = [unkilled, *KILLED_AT_ONCE]
    alone = [{check.name} for check in ALL_CHECKS if not any(check.name in names for names in sharing)]
    return [[check for check in ALL_CHECKS if check.name in names] for names in (*sharing, *alone)]


async def tried(app: str, folder: Path, adapter: str, path: str, *, has_two: bool = True) -> list[Result]:
    """Make every check of an app through an adapter. Without `has_two` its processes share nothing."""
    killed = await asyncio.to_thread(KilledHost, HERE / app, folder)
    try:
        async with (
            httpx.AsyncClient(base_url=f"{killed.host.origin}{path}", timeout=30.0) as http,
            httpx.AsyncClient(base_url=f"{killed.other.origin}{path}", timeout=30.0) as other,
        ):
            service = ADAPTERS[adapter](http, "Assistant")
            trial = Trial(
                service,
                "hello",
                "slow",
                "refund",
                OWNERS,
                killed.kill,
                work="work",
                tool="lookup",
                ask="ask",
                edit="edit",
                default="default",
                long="long",
                limit=LIMIT_SECONDS,
                closed="Closed",
                behalf="behalf",
                says=("for ada", "for bob"),
                stored=killed.stored,
                beside=service.beside(other) if has_two else None,
            )
            return [result for checks in rounds() for result in await made_at_once(checks, trial)]
    finally:
        await asyncio.to_thread(killed.stop)


KEYS = {"key.again", "key.at-once", "key.reused", "key.broken", "kill.key"}
STREAMS = {"stream.resumed", "stream.again", "beside.stream", "kill.stream"}
STEERS = {"steer.once", "steer.order", "kill.steer"}
CLIENT_TOOLS = {"client-tool.once", "client-tool.refused", "kill.client-tool"}
EDITS = {"approval.edited", "kill.edited", "ask.schema", "ask.default", "kill.default"}
ASKS = {"ask.once", "kill.ask", "beside.ask"}
APPROVALS = {"approval.once", "kill.approval", "beside.approval"}
PAUSES = {"long.progress", "pause.once", "kill.pause"}
TOKENS = {"user-token.own", "user-token.apart"}
STATE = "state.version"
EXPLORED = pytest.mark.explore
"""The wires' own tests kill the app, too; this is what the page of results has."""
DELETING = {"delete.gone", "delete.running", "delete.again", "owners.change"}


@pytest.mark.slow(seconds=30)
@pytest.mark.behaviour("conformance.ours")
@pytest.mark.parametrize(
    ("adapter", "path", "unoffered"),
    [
        ("ours", "/api", set()),
        ("ag-ui", "/api/ag-ui/Assistant", {check.name for check in ALL_CHECKS} - {*ASKS, *APPROVALS, *TOKENS}),
        pytest.param("responses", "/api/openai/v1", {*KEYS, *ASKS, *EDITS, *STEERS, *PAUSES, STATE}, marks=EXPLORED),
        pytest.param(
            *("a2a", "/api/a2a/Assistant/"),
            {*KEYS, *STREAMS, *DELETING, *STEERS, *CLIENT_TOOLS, *PAUSES, STATE},
            marks=EXPLORED,
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
    results = await tried("upstream_app", tmp_path, "upstream", "", has_two=False)
    offered = {result.check.name: result.outcome for result in results if result.outcome != "not offered"}

    assert offered == UPSTREAM
