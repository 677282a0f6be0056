"""A relay on the loopback: it passes HTTP byte for byte, each piece as it comes, from ports of its own to others.

It runs in a thread, so that code of any kind and other processes can use it.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import urlsplit

from tests.support.http_messages import LINE_BYTES, Head, Response, body_pieces, read_head, without_chunk_sizes

GUARD_SECONDS = 10.0
_Self = TypeVar("_Self", bound="Relay")


@dataclass
class Exchange:
    """One request to the server at `origin` on its way, which can be carried out whole before something is answered."""

    service: str
    request: Head
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    origin: str
    body: bytes | None = None

    async def take(self) -> bytes:
        """Return the request's body; a client that waits to be asked for it is asked."""
        if self.body is None:
            if "expect" in self.request.headers:
                self.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            pieces = body_pieces(self.reader, self.request, is_empty=False, until_close=False)
            self.body = b"".join([piece async for piece in pieces])
        return self.body

    async def carry_out(self) -> Response:
        """Give the whole request to the server and return the whole response, which the client has not seen."""
        body = await self.take()
        async with self.server() as (reader, writer):
            writer.write(self.request.raw + body)
            head = await _final_head(reader)
            sent = b"".join([piece async for piece in self.response_pieces(reader, head)])
        return Response(head, head.raw + sent, without_chunk_sizes(head, sent))

    def response_pieces(self, reader: asyncio.StreamReader, head: Head) -> AsyncIterator[bytes]:
        """Iterate over a response's body as it comes."""
        is_empty = self.request.first_line[0] == "HEAD" or head.status in (204, 304)
        return body_pieces(reader, head, is_empty=is_empty, until_close=True)

    async def until_left(self) -> None:
        """Return when the client has closed the connection."""
        await self.take()
        await self.reader.read()

    @asynccontextmanager
    async def server(self) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
        """A connection for this exchange alone: one that is kept could be closed by the server under the next."""
        there = urlsplit(self.origin)
        reader, writer = await asyncio.open_connection(there.hostname, there.port, limit=LINE_BYTES)
        try:
            yield reader, writer
        finally:
            writer.close()


class Relay:
    """Stands before the addresses of `origins`, by their names, in its `with` block; its own are then `origins`.

    `bytes_up` and `bytes_down` are what clients sent and were sent, with all that HTTP puts around it.
    """

    def __init__(self, origins: Mapping[str, str]) -> None:
        self._behind = dict(origins)
        self._loop = asyncio.new_event_loop()
        self._servers: list[asyncio.AbstractServer] = []
        self._connections: set[asyncio.Task[None]] = set()
        self._errors: list[BaseException] = []
        self.origins: dict[str, str] = {}
        self.bytes_up = self.bytes_down = 0

    def __enter__(self: _Self) -> _Self:
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._run(self._listen())
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._run(self._leave())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(GUARD_SECONDS)
        self._loop.close()
        if kind is None and self._errors:
            raise self._errors[0]

    def _exchange(
        self, service: str, request: Head, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> Exchange:
        """Return the exchange that a request begins: here it is decided where it goes."""
        return Exchange(service, request, reader, writer, self._behind[service])

    async def _answered(self, exchange: Exchange) -> bool:
        """Answer, and return whether the connection goes on."""
        return await self._pass(exchange)

    def _run(self, work: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result(GUARD_SECONDS)

    async def _listen(self) -> None:
        for service in self._behind:
            port = urlsplit(self.origins.get(service, "")).port or 0
            server = await asyncio.start_server(self._accepting(service), "127.0.0.1", port, limit=LINE_BYTES)
            self._servers.append(server)
            self.origins[service] = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"

    async def _leave(self) -> None:
        for server in self._servers:
            server.close()
        self._servers.clear()
        for connection in list(self._connections):
            connection.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    def _accepting(self, service: str) -> Callable[[asyncio.StreamReader, asyncio.StreamWriter], None]:
        def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            connection = self._loop.create_task(self._serve(service, reader, writer))
            self._connections.add(connection)
            connection.add_done_callback(self._ended)

        return accept

    def _ended(self, connection: asyncio.Task[None]) -> None:
        self._connections.discard(connection)
        if not connection.cancelled() and (error := connection.exception()):
            self._errors.append(error)

    async def _serve(self, service: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with suppress(ConnectionError, asyncio.IncompleteReadError):
                while head := await read_head(reader):
                    self.bytes_up += len(head.raw)
                    if not await self._answered(self._exchange(service, head, reader, writer)) or head.closes:
                        break
        finally:
            writer.close()

    async def _to_client(self, exchange: Exchange, piece: bytes) -> None:
        self.bytes_down += len(piece)
        exchange.writer.write(piece)
        await exchange.writer.drain()

    async def _pass(self, exchange: Exchange) -> bool:
        """Relay both ways at once, each piece as it comes."""
        async with exchange.server() as (reader, writer):
            upload = asyncio.create_task(self._upload(exchange, writer))
            try:
                head = await read_head(reader)
                while head is not None and head.is_interim:
                    await self._to_client(exchange, head.raw)
                    head = await read_head(reader)
                if head is None:
                    return False
                await self._to_client(exchange, head.raw)
                async for piece in exchange.response_pieces(reader, head):
                    await self._to_client(exchange, piece)
                ends_by_close = not {"content-length", "transfer-encoding"} & head.headers.keys() and head.status == 200
                await asyncio.wait({upload}, timeout=GUARD_SECONDS)  # a refusal may come before the body has
                return upload.done() and not upload.exception() and not head.closes and not ends_by_close
            finally:
                upload.cancel()
                await asyncio.gather(upload, return_exceptions=True)

    async def _upload(self, exchange: Exchange, writer: asyncio.StreamWriter) -> None:
        writer.write(exchange.request.raw)
        if exchange.body is not None:
            self.bytes_up += len(exchange.body)
            writer.write(exchange.body)
        else:
            async for piece in body_pieces(exchange.reader, exchange.request, is_empty=False, until_close=False):
                self.bytes_up += len(piece)
                writer.write(piece)
                await writer.drain()
        await writer.drain()


async def _final_head(reader: asyncio.StreamReader) -> Head:
    while head := await read_head(reader):
        if not head.is_interim:
            return head
    raise ConnectionResetError("the server closed without an answer")
