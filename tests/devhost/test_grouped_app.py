"""The helper that runs an app as several processes: nothing of it stays behind, and one address leads to all."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from tests.support.app_folder import make_app
from tests.support.grouped_app import Balancer, grouped_app
from tests.support.running_host import GUARD_SECONDS

APP = """
import os, pathlib
import azure.functions as func
pathlib.Path(f"{os.getpid()}.pid").touch()
app = func.FunctionApp()

@app.route(route="name", auth_level="anonymous")
def name(req: func.HttpRequest) -> str:
    return "it is here"
"""


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.slow
@pytest.mark.behaviour("groups.helper-leaves-nothing")
def test_all_hosts_are_ended_with_one_that_does_not_start(tmp_path: Path) -> None:
    """A timer's host whose function is not there."""
    folder = make_app(tmp_path, APP)

    with pytest.raises(AssertionError, match="no_such_timer"), grouped_app(folder, timers=("no_such_timer",), log={}):
        raise AssertionError("it started")

    loaded = [int(file.stem) for file in folder.glob("*.pid")]
    assert (len(loaded) >= 3, [pid for pid in loaded if is_alive(pid)]) == (True, [])


def named(name: str) -> Callable[[asyncio.StreamReader, asyncio.StreamWriter], object]:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while await reader.readuntil(b"\r\n\r\n"):
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n" + name.encode())

    return serve


async def origin_of(server: asyncio.Server) -> str:
    return f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


@pytest.mark.behaviour("groups.helper-balances")
async def test_hosts_get_requests_by_turns_and_streams_pass_piece_by_piece() -> None:
    """Also requests of one connection. A host says the next word when the client has the one before."""
    received, words = asyncio.Event(), list[str]()

    async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nfirst\r\n")
        await received.wait()
        writer.write(b"6\r\nsecond\r\n0\r\n\r\n")

    servers = [await asyncio.start_server(serve, "127.0.0.1", 0) for serve in (named("a"), named("b"), speak)]
    one, other, speaking = (f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}" for server in servers)
    async with httpx.AsyncClient(timeout=GUARD_SECONDS) as client:
        with Balancer([one, other]) as balancer:
            answers = [(await client.get(balancer.origins["app"])).text for _ in range(5)]
        with Balancer([speaking]) as balancer:
            async with client.stream("GET", balancer.origins["app"]) as got:
                async for word in got.aiter_text():
                    words.append(word)
                    received.set()
    for server in servers:
        server.close()

    assert ("".join(answers), words) == ("ababa", ["first", "second"])
