"""The helper that runs an app as several processes: nothing of it stays behind, and one address leads to all."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from tests.support.app_folder import make_app
from tests.support.grouped_app import Balancer
from tests.support.running_host import RunningHost

PIDS = "import os, pathlib\npathlib.Path(f'{os.getpid()}.pid').touch()\n"


def alive(folder: Path) -> list[int]:
    """Which processes of those that loaded the app are there."""
    return [pid for pid in (int(file.stem) for file in folder.glob("*.pid")) if is_alive(pid)]


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.slow
@pytest.mark.behaviour("groups.helper-leaves-nothing")
def test_a_host_that_does_not_start_is_ended(tmp_path: Path) -> None:
    """It hangs where it loads the app, and nobody else knows its id."""
    folder = make_app(tmp_path, PIDS + "import time\nprint('it hangs', flush=True)\ntime.sleep(600)\n")

    with pytest.raises(AssertionError, match="it hangs"):
        RunningHost(folder, start_seconds=4)

    assert list(folder.glob("*.pid"))
    assert alive(folder) == []


Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], object]


def named(name: str) -> Serve:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while await reader.readuntil(b"\r\n\r\n"):
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n" + name.encode())

    return serve


async def origin_of(server: asyncio.Server) -> str:
    return f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


@pytest.mark.behaviour("groups.helper-balances")
async def test_hosts_get_requests_by_turns() -> None:
    servers = [await asyncio.start_server(named(name), "127.0.0.1", 0) for name in "ab"]
    with Balancer([await origin_of(server) for server in servers]) as balancer:
        async with httpx.AsyncClient(base_url=balancer.origins["app"]) as client:
            answers = [(await client.get("/")).text for _ in range(5)]
    for server in servers:
        server.close()

    assert "".join(answers) == "ababa"
