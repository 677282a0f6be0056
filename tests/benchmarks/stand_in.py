"""A small HTTP server in the place of a host, whose answers a test decides."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from benchmarks.connection import Connection, connect

Reply = Callable[[str, bytes], bytes]  # path and body of a request to the bytes of its whole answer


def http(status: int, body: bytes) -> bytes:
    """An answer as a server writes it."""
    return f"HTTP/1.1 {status} X\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


def turn(text: str, message_count: int = 2) -> bytes:
    """A finished turn as the host answers it."""
    fields = {"response": text, "run_id": "run", "message_count": message_count}
    return http(200, json.dumps(fields).encode())


@asynccontextmanager
async def answering(reply: Reply, connections: int = 1) -> AsyncIterator[list[Connection]]:
    """Yield open connections to a server that answers by `reply`; it hangs up after an empty answer or with them."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while (request := await read_request(reader)) and (answer := reply(*request)):
            writer.write(answer)
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        opened = [await connect("127.0.0.1", port) for _ in range(connections)]
        yield opened
        for connection in opened:
            connection.close()


async def read_request(reader: asyncio.StreamReader) -> tuple[str, bytes] | None:
    """The path and the body; None at the connection's end."""
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
    except asyncio.IncompleteReadError:
        return None
    lines = head.splitlines()
    headers = dict(line.lower().split(": ", 1) for line in lines[1:] if line)
    return lines[0].split()[1], await reader.readexactly(int(headers["content-length"]))


class CrowdedThread:
    """A thread of the timed agent that loses or doubles some of the messages it is told."""

    def __init__(self, copies: dict[str, int]) -> None:
        self._copies = copies
        self._kept: list[str] = []

    def reply(self, path: str, body: bytes) -> bytes:
        message: Any = json.loads(body)["message"]
        if message == "recall":
            return turn(json.dumps([*self._kept, "recall"]))
        self._kept += [message] * self._copies.get(message, 1)
        return turn("heard")
