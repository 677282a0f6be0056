"""Streams that wait for a person or for news end before the platform ends their function: see `Following`."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import httpx
import pytest

from hosting.core.agent.time_limits import ENDING_SECONDS
from tests.support.a2a import HEADERS, message
from tests.support.cluster.cluster import AGENT, Cluster
from tests.support.mcp_wire import STATELESS, Session

pytestmark = [pytest.mark.moved_time, pytest.mark.behaviour("streams.function-time")]

SECONDS = 30 * 60 - ENDING_SECONDS
"""Of the `functionTimeout` of the template's host.json."""


@pytest.fixture
async def http() -> Any:
    """A client of an app whose agent asks a person."""
    cluster = Cluster(wires=["a2a", "mcp"])
    process = cluster.process()
    process.agent.asks = ["c1"]
    async with process.http as client:
        yield client
    await cluster.close()


async def test_a_subscriber_of_a_task_that_waits_for_a_person_is_told_to_come_again(http: httpx.AsyncClient) -> None:
    sent = {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message": message("pay")}}
    task = (await http.post(f"/api/a2a/{AGENT}", json=sent, headers=HEADERS)).json()["result"]["task"]

    subscribe = {"jsonrpc": "2.0", "id": 2, "method": "SubscribeToTask", "params": {"id": task["id"]}}
    seconds, said = await answered(http, f"/api/a2a/{AGENT}", subscribe, HEADERS)

    assert task["status"]["state"] == "TASK_STATE_INPUT_REQUIRED"
    assert said["error"]["message"] == "The function that sends this stream is about to end. Subscribe again."
    assert SECONDS <= seconds < SECONDS + 1


async def test_who_listens_to_changes_over_mcp_gets_the_result_and_listens_again(http: httpx.AsyncClient) -> None:
    session = Session(http, STATELESS)
    listen = session.request("subscriptions/listen", {"notifications": {}}, "listen")
    seconds, said = await answered(http, "/api/mcp/v1", listen, session.headers_of(listen))

    assert (said["id"], said["result"]["resultType"]) == ("listen", "complete")
    assert SECONDS <= seconds < SECONDS + 1


async def answered(
    http: httpx.AsyncClient, path: str, body: dict[str, Any], headers: dict[str, str]
) -> tuple[float, dict[str, Any]]:
    """Return after how many seconds a stream ended, and its last message."""

    clock = asyncio.get_running_loop().time
    began = clock()
    answer = await http.post(path, json=body, headers=headers)
    last = [line for line in answer.text.splitlines() if line.startswith("data: ")][-1]
    return clock() - began, dict(json.loads(last.removeprefix("data: ")))
