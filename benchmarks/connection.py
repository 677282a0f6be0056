"""One keep-alive connection to the host: a client that costs little, so that it is not what is measured."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from typing import cast

import httptools


@dataclass(frozen=True)
class Answer:
    """An HTTP answer, whole; `pieces` is its body as it came, each with its time (seconds of `time.perf_counter`)."""

    status: int
    body: bytes
    pieces: tuple[tuple[float, bytes], ...] = field(default=(), compare=False)


class Connection(asyncio.Protocol):
    """Sends one request at a time; the parser calls the `on_` methods."""

    def __init__(self, host: str) -> None:
        self._host = host
        self._transport: asyncio.Transport | None = None
        self._answer: asyncio.Future[Answer] | None = None
        self._parser: httptools.HttpResponseParser = httptools.HttpResponseParser(self)
        self._pieces: list[tuple[float, bytes]] = []

    async def request(
        self,
        method: str,
        path: str,
        body: bytes = b"",
        content_type: str = "application/json",
        accept: str = "*/*",
        *,
        key: str = "",
    ) -> Answer:
        """Return the whole answer; raises ConnectionError when the host closes the connection before its end.

        `key` is the request's idempotency key, if it has one.
        """
        if self._transport is None or self._transport.is_closing():
            raise ConnectionError("The connection is closed.")
        head = f"{method} {path} HTTP/1.1\r\nHost: {self._host}\r\nContent-Length: {len(body)}\r\n"
        self._answer = asyncio.get_running_loop().create_future()
        head += f"Idempotency-Key: {key}\r\n" if key else ""
        self._transport.write(f"{head}Content-Type: {content_type}\r\nAccept: {accept}\r\n\r\n".encode() + body)
        return await self._answer

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's is none by class

    def data_received(self, data: bytes) -> None:
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError as error:
            self._fail(ConnectionError(f"What came is not HTTP: {error}."))

    def connection_lost(self, exc: Exception | None) -> None:
        self._fail(ConnectionError(f"The host closed the connection: {exc or 'no reason given'}."))

    def on_message_begin(self) -> None:
        self._pieces = []

    def on_body(self, body: bytes) -> None:
        self._pieces.append((time.perf_counter(), body))

    def on_message_complete(self) -> None:
        if self._answer is not None and not self._answer.done():
            body = b"".join(piece for _, piece in self._pieces)
            self._answer.set_result(Answer(self._parser.get_status_code(), body, tuple(self._pieces)))
        self._parser = httptools.HttpResponseParser(self)

    def _fail(self, error: ConnectionError) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(error)


async def connect(host: str, port: int) -> Connection:
    """Return an open connection; raises OSError when nobody listens there."""
    _, connection = await asyncio.get_running_loop().create_connection(lambda: Connection(f"{host}:{port}"), host, port)
    return connection
