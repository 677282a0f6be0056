"""A relay before the storage emulator that counts what one process asks of it: calls by their price, and bytes."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from urllib.parse import urlsplit

_REQUEST = re.compile(rb"^(GET|HEAD|PUT|POST) /devstoreaccount1\S* HTTP/1.1\r$", re.MULTILINE)
_PRICED_AS = {b"PUT": "writes", b"POST": "writes", b"GET": "reads", b"HEAD": "reads"}


@dataclass
class Meter:
    """What went over a relay: `calls` by price, and the bytes of both ways with all that HTTP puts around them."""

    calls: Counter[str] = field(default_factory=Counter)
    bytes_up: int = 0
    bytes_down: int = 0

    def clear(self) -> None:
        """Begin anew."""
        self.calls.clear()
        self.bytes_up = self.bytes_down = 0

    def sent(self, piece: bytes) -> None:
        """Count what a client sent; a head comes within one piece, as clients write it. Deleting costs nothing."""
        self.bytes_up += len(piece)
        for found in _REQUEST.finditer(piece):
            self.calls["lists" if b"comp=list" in found[0] else _PRICED_AS[found[1]]] += 1

    def answered(self, piece: bytes) -> None:
        """Count what the storage answered."""
        self.bytes_down += len(piece)


@asynccontextmanager
async def metered(origin: str, meter: Meter) -> AsyncIterator[str]:
    """Relay to the server at `origin`, counting into the meter; gives the relay's own address."""
    there = urlsplit(origin)

    async def relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        server_reader, server_writer = await asyncio.open_connection(there.hostname, there.port)
        with suppress(ConnectionError, asyncio.CancelledError):
            await asyncio.gather(_pump(reader, server_writer, meter.sent), _pump(server_reader, writer, meter.answered))

    server = await asyncio.start_server(relay, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, count: Callable[[bytes], None]) -> None:
    while piece := await reader.read(65_536):
        count(piece)
        writer.write(piece)
    writer.close()
