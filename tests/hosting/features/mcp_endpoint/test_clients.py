"""The official clients, over a socket to a real host."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from mcp import Client, MCPError
from mcp_types import ElicitRequestParams, ElicitResult

from tests.support.carriers import GUARD_SECONDS
from tests.support.mcp_wire import PATH
from tests.support.node_packages import RegistryUnreachableError, install
from tests.support.npm_client import printed_by
from tests.support.running_host import RunningHost

pytestmark = [pytest.mark.slow, pytest.mark.behaviour("mcp-endpoint.client")]

HERE = Path(__file__).parent
LOCK = HERE.parents[2] / "mcp" / "node"


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningHost]:
    """The app on a host."""
    with RunningHost(shutil.copytree(HERE / "app", tmp_path_factory.mktemp("clients") / "app")) as host:
        yield host


async def threads_of(http: httpx.AsyncClient) -> set[str]:
    """Return the threads of Joker."""
    return {thread["thread_id"] for thread in (await http.get("threads")).json()["threads"]}


def joker_of(host: RunningHost) -> httpx.AsyncClient:
    """Return a client of Joker's routes."""
    return httpx.AsyncClient(base_url=f"{host.origin}/api/agents/Joker/", timeout=GUARD_SECONDS)


@pytest.fixture
async def before(host: RunningHost) -> set[str]:
    """The threads from before the test."""
    async with joker_of(host) as http:
        return await threads_of(http)


async def statuses(host: RunningHost, before: set[str]) -> set[str]:
    """Return how the runs of Joker have ended that the test began, once all have and one was cancelled."""
    async with joker_of(host) as http, asyncio.timeout(GUARD_SECONDS):
        while True:
            runs = [
                (await http.get(f"threads/{thread}/runs")).json()["runs"] for thread in await threads_of(http) - before
            ]
            ends = {run["status"] for listed in runs for run in listed}
            if "cancelled" in ends and not ends & {"running", "accepted", "cancelling"}:
                return ends


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_the_client_for_python_does_all_that_the_wire_serves(
    host: RunningHost, before: set[str], mode: Any
) -> None:
    """In the version with a handshake, and in the one without."""
    asked, words = [], []

    async def answer(context: object, params: ElicitRequestParams) -> ElicitResult:
        asked.append(params.message)
        return ElicitResult(action="accept", content={"approved": True})

    async def follow(progress: float, total: float | None, message: str | None) -> None:
        words.append(message or "")

    async with Client(host.origin + PATH, mode=mode, elicitation_callback=answer) as client:
        tools = [tool.name for tool in (await client.list_tools()).tools]
        spoken = await client.call_tool("Joker", {"query": "hello"}, progress_callback=follow)
        refund = await client.call_tool("Clerk", {"query": "call refund 7"})
        with pytest.raises(MCPError):
            await client.call_tool("Joker", {"query": "sleep 60"}, read_timeout_seconds=0.5)
        ends = await statuses(host, before)

    assert tools == ["Joker", "Clerk"]
    assert "".join(words) == spoken.structured_content["response"] == "echo: hello"
    assert refund.content[0].text == "told: refunded 7"
    assert asked == ['Clerk wants to call refund({"n": "7"}). Approve it?']
    assert ends == {"success", "cancelled"}


@pytest.fixture(scope="module")
def packages(pytestconfig: pytest.Config) -> Path:
    """The folder with the clients for TypeScript; a test that needs it is skipped without npm's registry."""
    try:
        return install(LOCK, Path(pytestconfig.cache.mkdir("mcp-node")))
    except RegistryUnreachableError:
        pytest.skip("npm's registry cannot be reached, and the cache has no copy of the MCP tools")


@pytest.mark.parametrize("version", ["1", "2"])
async def test_the_client_for_typescript_does_the_same(
    host: RunningHost, before: set[str], packages: Path, version: str
) -> None:
    """Its first major version, and its second."""
    script = Path(shutil.copy(HERE / "client.mjs", packages))
    got = await printed_by(script, host.origin + PATH, version)
    ends = await statuses(host, before)

    assert got == {
        "tools": ["Joker", "Clerk"],
        "words": "echo: hello",
        "answer": "echo: hello",
        "refund": "told: refunded 7",
        "asked": ['Clerk wants to call refund({"n": "7"}). Approve it?'],
        "waits": 1,
        "left": "cancelled",
    }
    assert ends == {"success", "cancelled"}


@pytest.mark.parametrize("version", ["1", "2"])
async def test_the_client_for_typescript_reads_completes_and_listens(
    host: RunningHost, packages: Path, version: str
) -> None:
    """What it does not get is refused by itself or by the app; the second version listens."""
    script = Path(shutil.copy(HERE / "features.mjs", packages))
    got = await printed_by(script, host.origin + PATH, version)
    listening = {
        "version": "2026-07-28",
        "honored": {"resourceSubscriptions": ["thread://Joker/ts-watched"]},
        "told": ["thread://Joker/ts-watched"],
        "closed": "local",
    }

    assert got == {
        "server": ["durable-agents", ["completions", "resources", "tools"], True],
        "ping": {},
        "templates": ["thread", "file"],
        "agents": ["Clerk"],
        "threads": [f"ts-{version}"],
        "listed": True,
        "read": True,
        "prompts": -32601,
        "subscribed": -32601,
        **(listening if version == "2" else {}),
    }
