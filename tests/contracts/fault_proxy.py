"""A proxy between storage clients and Azurite that passes everything byte for byte, and fails where a test says so.

It stands on ports of its own, one for each service, in a thread: code of any kind and other processes are given its
connection string. Faults are set and taken back while it runs, and each counts how often it fired. What Azure Tables
refuses for its size, and Azurite takes, is refused always.
"""

from __future__ import annotations

import asyncio
import inspect
import re
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from azure.storage.blob.aio import BlobServiceClient, ExponentialRetry

from hosting.storage.blob_account import Connect, client_options
from tests.contracts.azurite import connection_string
from tests.contracts.http_messages import LINE_BYTES, Head, Response, body_pieces, read_head, without_chunk_sizes
from tests.contracts.storage_calls import StorageCall, parse_call
from tests.contracts.storage_faults import FAULTS, Answer, own_target, refused
from tests.contracts.table_limits import refusal_of

GUARD_SECONDS = 10.0


@dataclass
class Fault:
    """One set fault: which requests it is for, how often, and how often it `fired`."""

    name: str
    effect: Callable[[Exchange], Awaitable[Answer]]
    service: str | None
    method: str | None
    path: re.Pattern[str]
    kind: str | None
    left: float
    skip: int
    fired: int = 0

    def takes(self, exchange: Exchange) -> bool:
        """Whether the request is one of those that fail; the first `skip` of them do not."""
        method, target, _ = exchange.request.first_line
        is_meant = (
            self.service in (None, exchange.service)
            and self.method in (None, method)
            and self.kind in (None, exchange.call.kind)
            and self.path.search(target) is not None
        )
        if is_meant and self.skip:
            self.skip -= 1
            return False
        return is_meant and self.left > 0

    def clear(self) -> None:
        """Let all further requests pass."""
        self.left = 0


@dataclass
class Exchange:
    """One request on its way: it can be carried out by Azurite, whole, before something is answered."""

    service: str
    request: Head
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    origin: str
    continued: dict[str, str]
    body: bytes | None = None
    call: StorageCall = field(init=False)

    def __post_init__(self) -> None:
        self.call = parse_call(self.request.first_line[0], self.request.first_line[1])

    async def take(self) -> bytes:
        """Return the request's body; a client that waits to be asked for it is asked."""
        if self.body is None:
            if "expect" in self.request.headers:
                self.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            pieces = body_pieces(self.reader, self.request, is_empty=False, until_close=False)
            self.body = b"".join([piece async for piece in pieces])
        return self.body

    async def carry_out(self) -> Response:
        """Give the whole request to Azurite and return the whole response, which the client has not seen."""
        body = await self.take()
        async with self.azurite() as (reader, writer):
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
    async def azurite(self) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
        """A connection of this exchange's own: one that both keep could be closed by Azurite under the next request."""
        there = urlsplit(self.origin)
        reader, writer = await asyncio.open_connection(there.hostname, there.port, limit=LINE_BYTES)
        try:
            yield reader, writer
        finally:
            writer.close()


class FaultProxy:
    """Stands before the addresses of `origins` while its `with` block runs; a fault that never fired fails the block.

    `bytes_up` and `bytes_down` are what clients sent and were sent, with all that HTTP puts around it.
    """

    def __init__(self, origins: Mapping[str, str]) -> None:
        self._azurite = dict(origins)
        self._loop = asyncio.new_event_loop()
        self._servers: list[asyncio.AbstractServer] = []
        self._connections: set[asyncio.Task[None]] = set()
        self._faults: list[Fault] = []
        self._errors: list[BaseException] = []
        self._continued: dict[str, str] = {}
        self.origins: dict[str, str] = {}
        self.bytes_up = self.bytes_down = 0

    @property
    def connection_string(self) -> str:
        """The account by way of the proxy."""
        return connection_string(self.origins)

    def set(
        self,
        name: str,
        *,
        service: str | None = None,
        method: str | None = None,
        path: str = "",
        kind: str | None = None,
        times: float = 1,
        skip: int = 0,
        **options: Any,
    ) -> Fault:
        """Let requests fail as FAULTS has it under the name, with the options that it takes there.

        `path` is searched for in the address with its query, `kind` is read, write, list or delete; `times` may be
        infinite. Of several faults for one request the one that was set first is taken.
        """
        effect = FAULTS[name]
        inspect.signature(effect).bind(None, **options)
        fault = Fault(name, partial(effect, **options), service, method, re.compile(path), kind, times, skip)
        self._faults.append(fault)
        return fault

    @contextmanager
    def away(self) -> Iterator[None]:
        """Refuse connections and end those that there are, until the block ends; what is refused so is not counted."""
        self._run(self._leave())
        try:
            yield
        finally:
            self._run(self._listen())

    def __enter__(self) -> FaultProxy:
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
        idle = [f"{fault.name!r} ({fault.path.pattern or 'any path'})" for fault in self._faults if not fault.fired]
        if kind is None and idle:
            raise AssertionError(f"Set, and never fired: {', '.join(idle)}. The test shows nothing of it.")

    def _run(self, work: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result(GUARD_SECONDS)

    async def _listen(self) -> None:
        for service in self._azurite:
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
                    request = own_target(head, self._continued)
                    exchange = Exchange(service, request, reader, writer, self._azurite[service], self._continued)
                    if not await self._answered(exchange) or head.closes:
                        break
        finally:
            writer.close()

    async def _answered(self, exchange: Exchange) -> bool:
        """Answer as the limits of Azure, a fault or Azurite has it; return whether the connection goes on."""
        if exchange.service == "Table" and exchange.request.first_line[0] not in ("GET", "DELETE"):
            is_batch = exchange.call.container == "$batch"
            refusal = refusal_of(await exchange.take(), is_batch=is_batch)
            if refusal is not None:
                return await self._send(exchange, refused(refusal, is_batch=is_batch))
        fault = next((fault for fault in self._faults if fault.takes(exchange)), None)
        if fault is None:
            return await self._pass(exchange)
        fault.left -= 1
        fault.fired += 1
        answer = await fault.effect(exchange)
        if not answer.has_failed:  # the fault had nothing to do with this answer
            fault.left += 1
            fault.fired -= 1
        return await self._send(exchange, answer)

    async def _send(self, exchange: Exchange, answer: Answer) -> bool:
        self.bytes_up += len(exchange.body or b"")
        if answer.sent is None:
            return False
        await self._to_client(exchange, answer.sent)
        return exchange.body is not None

    async def _to_client(self, exchange: Exchange, piece: bytes) -> None:
        self.bytes_down += len(piece)
        exchange.writer.write(piece)
        await exchange.writer.drain()

    async def _pass(self, exchange: Exchange) -> bool:
        """Relay both ways at once, each piece as it comes."""
        async with exchange.azurite() as (reader, writer):
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
                return upload.done() and not head.closes and not ends_by_close
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


def connect_quickly(account: str) -> Connect:
    """Return how the product connects to the account of a connection string, with repeats that do not wait."""
    retry = ExponentialRetry(initial_backoff=0, increment_base=0, retry_total=2, random_jitter_range=0)

    @asynccontextmanager
    async def connect() -> AsyncIterator[BlobServiceClient]:
        options = {**client_options(), "retry_policy": retry}
        async with BlobServiceClient.from_connection_string(account, **options) as client:
            yield client

    return connect


async def _final_head(reader: asyncio.StreamReader) -> Head:
    while head := await read_head(reader):
        if not head.is_interim:
            return head
    raise ConnectionResetError("Azurite closed without an answer")
