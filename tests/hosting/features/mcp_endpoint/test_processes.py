"""What comes to another process than the call's: real hosts of one app, over one log and one engine."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest
from mcp import Client
from mcp.client.subscriptions import ResourceUpdated

from tests.support.carriers import GUARD_SECONDS
from tests.support.grouped_app import GroupedApp, grouped_app
from tests.support.mcp_wire import HEADERS, PATH, Session, until

pytestmark = pytest.mark.slow

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def processes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GroupedApp]:
    """Two processes with the wire, and one with the entities."""
    folder = shutil.copytree(HERE / "app", tmp_path_factory.mktemp("processes") / "app")
    with grouped_app(folder, log={"AGENT_LOG": f"sqlite:{folder / 'log.sqlite'}"}) as app:
        yield app


@pytest.fixture
async def sessions(processes: GroupedApp) -> AsyncIterator[tuple[Session, Session]]:
    """One session, as each of the processes sees it."""
    async with AsyncExitStack() as stack:
        first, second = [
            await stack.enter_async_context(
                httpx.AsyncClient(base_url=f"{host.origin}{PATH}", headers=HEADERS, timeout=GUARD_SECONDS)
            )
            for host in processes.http
        ]
        here, there = Session(first), Session(second)
        await here.begin()
        there.headers = here.headers
        yield here, there


async def listed(session: Session, thread: str) -> None:
    """Return once the engine lists the thread: its first turn is committed then."""
    url = session.http.base_url.copy_with(path="/api/agents/Joker/threads")
    async with asyncio.timeout(2 * GUARD_SECONDS):
        while True:
            threads = (await session.http.get(url)).json()["threads"]
            if thread in [each["thread_id"] for each in threads]:
                return


async def cancelled(here: Session, there: Session, arguments: Any) -> str:
    """Have a call cancelled by a notification to the other process, and return the code of its result."""
    async with here.calling("sleep 60", arguments=arguments) as events:
        await anext(events)
        sent = here.request("ping", {})["id"] - 1
        await there.notify("notifications/cancelled", requestId=sent)
        last = await asyncio.wait_for(until(events, "result"), 2 * GUARD_SECONDS)
    return str(last["result"]["structuredContent"]["code"])


@pytest.mark.behaviour("mcp-endpoint.cancel")
async def test_the_call_of_a_thread_that_goes_on_is_found_among_the_newest(sessions: tuple[Session, Session]) -> None:
    here, there = sessions
    thread = (await here.call("hello"))["structuredContent"]["thread_id"]
    await listed(there, thread)

    assert await cancelled(here, there, {"threadId": thread}) == "run_cancelled"


@pytest.mark.behaviour("mcp-endpoint.cancel")
async def test_the_cancel_of_another_request_or_session_cancels_nothing(sessions: tuple[Session, Session]) -> None:
    """The run ends as it would have."""
    here, there = sessions
    stranger = Session(there.http)
    await stranger.begin()
    async with here.calling("sleep 0.5") as events:
        await anext(events)
        request_id = here.request("ping", {})["id"] - 1
        await there.notify("notifications/cancelled", requestId=request_id + 1000)
        await stranger.notify("notifications/cancelled", requestId=request_id)
        last = await asyncio.wait_for(until(events, "result"), 2 * GUARD_SECONDS)

    assert last["result"]["isError"] is False


@pytest.mark.behaviour("mcp-endpoint.client")
@pytest.mark.behaviour("mcp-endpoint.subscriptions")
async def test_the_official_client_is_told_of_what_another_process_did(processes: GroupedApp) -> None:
    uri = "thread://Joker/shared"
    here, there = (Client(host.origin + PATH, mode="auto") for host in processes.http)
    async with here, there, here.listen(resource_subscriptions=[uri]) as changes:
        await there.call_tool("Joker", {"query": "hello", "threadId": "shared"})
        change = await asyncio.wait_for(anext(changes), GUARD_SECONDS)

    assert change == ResourceUpdated(uri)
