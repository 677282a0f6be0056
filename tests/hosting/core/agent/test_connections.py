"""Connections to the servers of an agent's tools: opened again once they broke, without a call that is made twice."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from collections.abc import Iterator
from typing import Any

import pytest
from agent_framework import (
    Agent,
    MCPStdioTool,
    MCPStreamableHTTPTool,
)

from hosting.core.agent import connections, lifespans
from hosting.core.thread.events import ToolResult
from hosting.names import Address
from hosting.tools import idempotent
from tests.support.cluster.cluster import EchoAgent
from tests.support.made_app import app_of, ask, served
from tests.support.planned import planned_client
from tests.support.shop_server import Shop

pytestmark = pytest.mark.slow

GUARD_SECONDS = 30.0
PLAN = (("price",), "done")
UNKNOWN = "broke during this call. The tool may have done its work, and is not called again."
KINDS = ["http", "stdio"]


class Served:
    """A shop whose tools an agent has, over each kind of connection."""

    def __init__(self, kind: str, shop: Shop) -> None:
        self.shop = shop
        self._options = ["--legacy"] if kind == "sessions" else []
        self._is_child = kind == "stdio"
        self.tool: Any = MCPStreamableHTTPTool("shop", shop.url)
        if self._is_child:
            self.tool = MCPStdioTool("shop", sys.executable, args=shop.arguments())

    def start(self, *options: str) -> None:
        """Start the server; a child is started by its client."""
        if self._is_child:
            self.tool.args = self.shop.arguments(*options)
        else:
            self.shop.start(*self._options, *options)

    def restart(self, pid: int, *options: str) -> None:
        """Kill the server, of this process id where it is a child, and start it again."""
        if self._is_child:
            os.kill(pid, signal.SIGKILL)
        self.shop.kill()
        self.start(*options)

    def replace(self, pid: int) -> None:
        """Have another process in the place of the server, which is never away."""
        if self._is_child:
            self.restart(pid)
        else:
            self.shop.replace(*self._options)


@pytest.fixture
def shop(monkeypatch: pytest.MonkeyPatch) -> Iterator[Shop]:
    """A shop that is not started yet; what does not close is not waited for long."""
    monkeypatch.setattr(lifespans, "CLOSE_SECONDS", 0.5)
    with Shop() as shop:
        yield shop


class Shopper:
    """An app whose agent has this tool, and takes one turn after the other on a thread."""

    def __init__(self, tool: Any) -> None:
        self.app = app_of(Agent(planned_client(lambda what: None, PLAN), name="Joker", tools=[tool]), EchoAgent())
        self.services = self.app._services

    async def __aenter__(self) -> Shopper:
        self._served = served(self.app)
        _, self.http = await self._served.__aenter__()
        return self

    async def __aexit__(self, *error: Any) -> None:
        await asyncio.to_thread(self.services.loop.close)
        await self._served.__aexit__(*error)

    async def results(self) -> list[str]:
        """Take one turn, and return what its tools' calls gave or raised; or why it failed."""
        answer = (await ask(self.http, "hi", thread_id="t")).json()
        if "detail" in answer:
            return [answer["detail"]]
        events = [event for _, event in await self.services.log.events(Address.of("Joker", "t"), 0)]
        ended = [event for event in events if isinstance(event, ToolResult) and event.run_id == answer["run_id"]]
        return [event.error or "".join(content["text"] for content in event.contents or ()) for event in ended]


async def told(shop: Shop, what: str) -> list[str]:
    """Return the words of what the server tells next of that kind."""
    return (await asyncio.to_thread(shop.wait_for, what)).split()


def wait_until_over(tool: Any) -> None:
    """Return once a tool's broken connection was let go of."""
    deadline = time.monotonic() + GUARD_SECONDS
    while tool.is_connected:
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.mark.behaviour("hosting.connections-come-back")
@pytest.mark.parametrize("kind", KINDS)
async def test_the_tools_of_a_server_that_was_started_again_work_again(shop: Shop, kind: str) -> None:
    """At once where they may be called twice, as what broke is noticed before the call or by it."""
    served = Served(kind, shop)
    served.start()
    async with Shopper(idempotent(served.tool)) as shopper:
        before = await shopper.results()
        pid = int((await told(shop, "price"))[2])
        await asyncio.to_thread(served.restart, pid)
        after = [await shopper.results(), await shopper.results()]

    assert (before, after) == (["0 costs 3"], [["0 costs 3"]] * 2)


@pytest.mark.behaviour("hosting.connections-come-back")
@pytest.mark.parametrize(("kind", "is_harmless"), [("http", False), ("sessions", True), ("stdio", False)])
async def test_a_call_that_was_cut_off_is_made_again_only_where_that_does_no_harm(
    shop: Shop, kind: str, is_harmless: bool
) -> None:
    """Under the same key. Otherwise the model reads that its outcome is unknown, and the next run goes on."""
    served = Served(kind, shop)
    served.start("--stands")
    tool = idempotent(served.tool) if is_harmless else served.tool
    async with Shopper(tool) as shopper:
        run = asyncio.create_task(shopper.results())
        _, key, pid = await told(shop, "price")
        await asyncio.to_thread(served.replace, int(pid))
        (result,) = await run
        calls = [line.split()[1] for line in shop.told() if line.startswith("price")]
        after = await shopper.results()

    assert (result.partition("'shop' ")[2] or result) == ("0 costs 3" if is_harmless else UNKNOWN)
    assert calls == ([key] if is_harmless else [])
    assert after == ["0 costs 3"]


@pytest.mark.behaviour("hosting.connections-come-back")
@pytest.mark.parametrize("was_open", [False, True])
async def test_a_run_without_its_server_fails_and_says_so_and_the_next_one_tries_again(
    shop: Shop, was_open: bool
) -> None:
    """Whether the server was away when the process began, or since."""
    served = Served("http", shop)
    async with Shopper(served.tool) as shopper:
        if was_open:
            served.start()
            await shopper.results()
            shop.kill()
            await asyncio.to_thread(wait_until_over, served.tool)
        (failed,) = await shopper.results()
        served.start()
        after = await shopper.results()

    expected = (
        "The MCP server 'shop' cannot be reached" if was_open else "could not be opened: its client or a tool server"
    )
    assert (expected in failed, after) == (True, ["0 costs 3"])


@pytest.mark.behaviour("hosting.connections-come-back")
async def test_a_server_that_does_not_answer_holds_up_its_agents_runs_for_a_limited_time(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Runs of other agents go on meanwhile. Once it answers, the next run has its tools."""
    served = Served("http", shop)
    async with Shopper(served.tool) as shopper:
        served.start()
        await shopper.results()
        shop.kill()
        await asyncio.to_thread(wait_until_over, served.tool)
        served.start("--hangs")
        monkeypatch.setattr(connections, "OPENING_SECONDS", 1.0)
        waiting = asyncio.create_task(shopper.results())
        beside = await shopper.http.post("/api/agents/Echo/run", json={"message": "hi"})
        is_held_up = not waiting.done()
        (failed,) = await waiting
        await asyncio.to_thread(served.restart, 0)
        after = await shopper.results()

    assert beside.json()["response"] == "echo: hi"
    assert (is_held_up, "within 1 s" in failed, after) == (True, True, ["0 costs 3"])


@pytest.mark.behaviour("hosting.connections-come-back")
async def test_a_server_that_stands_still_does_not_hold_up_the_end_of_the_process(shop: Shop) -> None:
    served = Served("sessions", shop)
    served.start()
    async with Shopper(served.tool) as shopper:
        await shopper.results()
        shop.send(signal.SIGSTOP)
        await asyncio.wait_for(asyncio.to_thread(shopper.services.loop.close), GUARD_SECONDS)

    assert shopper.services.loop._loop is None
