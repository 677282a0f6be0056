"""A large file over HTTP: how fast it is stored and read again, and what the host holds of it in memory meanwhile."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path

import httpx

from benchmarks.figures import Figure, NotMeasuredError, Result
from benchmarks.sizes import Sizes
from benchmarks.turns import WrongAnswerError
from benchmarks.warm_up import warm_host

_MEBIBYTE = 1024 * 1024
_GUARD_SECONDS = 300.0
_CHUNK = bytes(range(256)) * (_MEBIBYTE // 256)


async def measure(sizes: Sizes) -> Result:
    """A file is uploaded whole, and downloaded. A small one goes before: what only the first file costs is left out.

    Raises NotMeasuredError where the system does not tell the most memory that a process had.
    """
    if sys.platform != "linux":
        raise NotMeasuredError("The most memory that a process had is read from /proc, which Linux alone has.")
    size = sizes.uploaded_mebibytes
    settings = {"FUNCTIONS_REQUEST_BODY_SIZE_LIMIT": str(2 * size * _MEBIBYTE)}
    async with warm_host(sizes, settings) as host:
        base = f"http://127.0.0.1:{host.process.port}/api/"
        async with httpx.AsyncClient(base_url=base, timeout=_GUARD_SECONDS) as http:
            await _read(http, await _sent(http, 16))
            before = most_resident_mebibytes(host.process.pid)
            began = time.perf_counter()
            content_url = await _sent(http, size)
            sent = time.perf_counter() - began
            began = time.perf_counter()
            read_bytes = await _read(http, content_url)
            read = time.perf_counter() - began
            after = most_resident_mebibytes(host.process.pid)
    if read_bytes != size * _MEBIBYTE:
        raise WrongAnswerError(f"A file of {size} MiB came back as {read_bytes:,} bytes.")
    figures = (
        Figure("the file", size, "MiB"),
        Figure("stored", size / sent, "MiB/s"),
        Figure("read", size / read, "MiB/s"),
        Figure("memory before, at most", before, "MiB"),
        Figure("memory more", after - before, "MiB"),
    )
    return Result(figures, host.empty_route_seconds)


async def _sent(http: httpx.AsyncClient, mebibytes: int) -> str:
    """Upload a file of that size, and return the URL of its content."""

    async def body() -> AsyncIterator[bytes]:
        for _ in range(mebibytes):
            yield _CHUNK

    headers = {"content-length": str(mebibytes * _MEBIBYTE)}
    answer = await http.post("files", params={"name": f"{mebibytes}.bin"}, content=body(), headers=headers)
    if answer.status_code != 201:
        raise WrongAnswerError(f"An upload was answered {answer.status_code}: {answer.text[:300]}")
    return str(answer.json()["content_url"])


async def _read(http: httpx.AsyncClient, url: str) -> int:
    """Return how many bytes a file has that is read as it comes."""
    size = 0
    async with http.stream("GET", url) as answer:
        async for piece in answer.aiter_bytes():
            size += len(piece)
    return size


def most_resident_mebibytes(pid: int) -> float:
    """Return the most memory that the process has had."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    found = re.search(r"VmHWM:\s+(\d+) kB", status)
    assert found is not None
    return int(found[1]) / 1024
