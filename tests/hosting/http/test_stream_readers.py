"""Many readers of one stream, slow ones and gone ones among them, on the local host over real sockets."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import socket
from pathlib import Path

import httpx
import pytest

from tests.support.carriers import APP
from tests.support.event_stream import parse, words
from tests.support.running_host import RunningHost

pytestmark = pytest.mark.slow

SLOW_READERS = 100
GUARD_SECONDS = 30.0
TEXT = "\n".join(f"{number}:{'long' * 50}" for number in range(2000))
SMALL_BUFFERS = [(socket.SOL_SOCKET, socket.SO_RCVBUF, 65_536)]


@pytest.mark.behaviour("streams.slow-readers")
async def test_slow_readers_delay_neither_a_fast_one_nor_the_run(tmp_path: Path) -> None:
    """They take nothing of what fills their connections until the run has ended; then they get all of it.

    A reader that began while the model answered got its deltas one by one, a later one in the pieces of the log.
    """
    environ = {"AGENT_STATE_LIMIT_BYTES": "4000000"}
    with RunningHost(shutil.copytree(APP, tmp_path / "app"), environ=environ) as host:
        transport = httpx.AsyncHTTPTransport(limits=httpx.Limits(max_connections=None), socket_options=SMALL_BUFFERS)
        async with contextlib.AsyncExitStack() as stack:
            fast = await stack.enter_async_context(httpx.AsyncClient(base_url=host.origin, timeout=GUARD_SECONDS))
            slow = await stack.enter_async_context(httpx.AsyncClient(timeout=GUARD_SECONDS, transport=transport))
            body = {"message": f"say {TEXT}", "stream": True, "wait_for_response": False, "thread_id": "t"}
            location = (await fast.post("/api/agents/Joker/run", json=body)).headers["location"]
            readers = [
                await stack.enter_async_context(slow.stream("GET", f"{location}/events")) for _ in range(SLOW_READERS)
            ]
            whole = await asyncio.wait_for(fast.get(f"{location}/events"), GUARD_SECONDS)
            ended = await fast.get(location)
            late = await asyncio.wait_for(asyncio.gather(*(each.aread() for each in readers)), GUARD_SECONDS)

    assert (ended.status_code, ended.json()["status"]) == (200, "success")
    assert words(parse(whole.text)) == TEXT
    assert [words(parse(each.decode())) for each in late] == [TEXT] * SLOW_READERS
    assert [parse(each.decode())[-1] for each in late] == [parse(whole.text)[-1]] * SLOW_READERS


async def test_readers_that_went_away_leave_the_run_alone(tmp_path: Path) -> None:
    """The one who asked for it, too: it is executed once and to its end."""
    environ = {"SCRIPT_LOG": str(tmp_path / "requests.txt")}
    with RunningHost(shutil.copytree(APP, tmp_path / "app"), environ=environ) as host:
        async with httpx.AsyncClient(base_url=host.origin, timeout=GUARD_SECONDS) as http:
            events = {"accept": "text/event-stream"}
            async with http.stream(
                "POST", "/api/agents/Joker/run?thread_id=t", content="sleep 0.5", headers=events
            ) as got:
                run = got.headers["content-location"]
            frames = parse((await asyncio.wait_for(http.get(run), GUARD_SECONDS)).text)

    assert [frames[-1].event, words(frames)] == ["completed", "echo: sleep 0.5"]
    assert len((tmp_path / "requests.txt").read_text(encoding="utf-8").splitlines()) == 1
