"""The line to the storage account: counts what goes over it, and fails on purpose."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from azure.core.exceptions import ServiceResponseError
from azure.core.pipeline.transport import AioHttpTransport, AsyncHttpResponse
from azure.storage.blob.aio import BlobServiceClient, ExponentialRetry

from hosting.storage.blob_account import Connect, client_options

Send = Callable[[], Any]
Fault = Callable[[Any, Send], Any]


class StorageLine(AioHttpTransport):
    """A real transport; `calls` are the methods and paths that went out, `fault` answers in its place."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[str] = []
        self.fault: Fault | None = None

    async def send(self, request: Any, **options: Any) -> AsyncHttpResponse:
        """Send the request, or let the fault do with it what it does."""
        self.calls.append(f"{request.method} {request.url.partition('?')[0]}")
        if self.fault is None:
            return await super().send(request, **options)
        return await self.fault(request, lambda: super(StorageLine, self).send(request, **options))


def connect_over(line: StorageLine, connection_string: str) -> Connect:
    """Return how to connect over the line, with repeats that do not wait."""
    retry = ExponentialRetry(initial_backoff=0, increment_base=0, retry_total=2, random_jitter_range=0)

    @asynccontextmanager
    async def connect() -> AsyncIterator[BlobServiceClient]:
        options = {**client_options(), "transport": line, "retry_policy": retry}
        async with BlobServiceClient.from_connection_string(connection_string, **options) as client:
            yield client

    return connect


async def never_answer(request: Any, send: Send) -> AsyncHttpResponse:
    """Take the request and keep silent."""
    await asyncio.Event().wait()
    raise AssertionError("nobody sets that event")


def lose_answers(times: int, method: str) -> Fault:
    """Return a fault that carries out so many requests of the method and loses their answers."""
    left = [times]

    async def lose(request: Any, send: Send) -> AsyncHttpResponse:
        response: AsyncHttpResponse = await send()
        if request.method == method and left[0]:
            left[0] -= 1
            raise ServiceResponseError("the connection was lost")
        return response

    return lose


def detour(times: int, origin: str) -> Fault:
    """Return a fault that sends so many requests to another server instead."""
    left = [times]

    async def send_elsewhere(request: Any, send: Send) -> AsyncHttpResponse:
        if not left[0]:
            return await send()
        left[0] -= 1
        address, request.url = request.url, origin
        try:
            return await send()
        finally:
            request.url = address

    return send_elsewhere


@asynccontextmanager
async def busy_server(status: int) -> AsyncIterator[str]:
    """Serve an account that throttles: every request gets the status and nothing else."""

    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(f"HTTP/1.1 {status} Busy\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".encode())
        writer.close()

    server = await asyncio.start_server(refuse, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
