"""A relay before a server on the loopback that can lose answers: what was asked is done, and nobody is told."""

from __future__ import annotations

import asyncio
from contextlib import suppress

CHUNK = 1 << 16


class LostAnswers:
    """Passes bytes between clients and the server at `port`, on a port of its own, in its `async with` block.

    While `loses` is above 0 the server's next answer is swallowed and its connection cut, and it is one less.
    """

    def __init__(self, port: int) -> None:
        self._behind = port
        self._connections: set[asyncio.Task[None]] = set()
        self.port = 0
        self.loses = 0

    async def __aenter__(self) -> LostAnswers:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for connection in self._connections:
            connection.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = asyncio.ensure_future(self._serve(reader, writer))
        self._connections.add(connection)
        connection.add_done_callback(self._connections.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection("127.0.0.1", self._behind)
        asking = asyncio.ensure_future(_pass(reader, back))
        try:
            with suppress(ConnectionError):
                while answer := await there.read(CHUNK):
                    if self.loses:
                        self.loses -= 1
                        return
                    writer.write(answer)
        finally:
            asking.cancel()
            back.close()
            writer.close()


async def _pass(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError):
        while requested := await reader.read(CHUNK):
            writer.write(requested)
    writer.close()
