"""The protocol's own client (npm `@durable-streams/client`) reads, follows and resumes runs."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.carriers import Api
from tests.support.event_stream import parse
from tests.support.node_packages import node

pytestmark = [pytest.mark.slow, pytest.mark.behaviour("streams.npm-client")]

GUARD_SECONDS = 30
WAYS = ["catch-up", "long-poll", "sse"]


async def read(node_modules: Path, way: str, url: str, offset: str = "-1") -> Any:
    """Return what the client got."""
    process = await asyncio.create_subprocess_exec(
        *(node(), str(node_modules / "read.mjs"), way, url, offset),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    printed, complained = await asyncio.wait_for(process.communicate(), GUARD_SECONDS)
    assert process.returncode == 0, complained.decode()
    return json.loads(printed)


async def run_of(api: Api, message: str, *, waits: bool) -> str:
    answer = await api.ask(message, stream=True, wait_for_response=False)
    url = answer.headers["location"] + "/events"
    if waits:
        await api.http.get(url)
    return str(httpx.URL(api.http.base_url).join(url))


async def messages(api: Api, url: str) -> list[dict[str, Any]]:
    """Return the events of an ended run as messages, from its event stream."""
    return [
        {"id": received.id, "event": received.event, "data": received.fields}
        for received in parse((await api.http.get(url)).text)
    ]


@pytest.mark.parametrize("way", WAYS)
async def test_an_ended_run_is_read_whole(api: Api, node_modules: Path, way: str) -> None:
    """Whichever way, the client knows that there is no more."""
    url = await run_of(api, "say one ü 😀\ntwo", waits=True)

    got = await read(node_modules, way, url)

    assert got["items"] == await messages(api, url)
    assert got["closed"] is True


@pytest.mark.parametrize("way", ["long-poll", "sse", "resume long-poll", "resume sse"])
async def test_a_run_that_goes_on_is_followed_to_its_end(api: Api, node_modules: Path, way: str) -> None:
    """Also when the client goes away after its first batch and comes back with the offset."""
    url = await run_of(api, "sleep 1", waits=False)

    got = await read(node_modules, way, url)

    assert got["items"] == await messages(api, url)
    assert [item["event"] for item in got["items"]][-1] == "completed"
    assert got["closed"] is True
    assert got.get("resumed", True) is True


async def test_the_client_reads_where_a_run_ends(api: Api, node_modules: Path) -> None:
    url = await run_of(api, "say hello", waits=True)

    tail = await read(node_modules, "head", url)

    assert tail["exists"] is True
    assert tail["contentType"] == "application/json"
    assert tail["offset"] == (await read(node_modules, "catch-up", url))["offset"]
    assert tail["streamClosed"] is True
