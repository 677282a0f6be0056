"""HTTP/1.1 messages as they go over a line: a head is kept byte for byte, and tells how far its body goes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from functools import cached_property

LINE_BYTES = 1 << 20
"""The longest head or line: what a server takes is less."""
_PIECE_BYTES = 65_536


@dataclass(frozen=True)
class Head:
    """The first line and the headers, `raw` as they came."""

    raw: bytes

    @cached_property
    def first_line(self) -> list[str]:
        """Method, target and version of a request; version, status and reason of a response."""
        return self.raw.split(b"\r\n", 1)[0].decode("latin-1").split(" ", 2)

    @cached_property
    def headers(self) -> dict[str, str]:
        """The headers, by name in small letters."""
        lines = self.raw.decode("latin-1").split("\r\n")[1:]
        pairs = (line.partition(":") for line in lines if line)
        return {name.strip().lower(): value.strip() for name, _, value in pairs}

    @property
    def status(self) -> int:
        return int(self.first_line[1])

    @property
    def is_interim(self) -> bool:
        """Whether another response follows to the same request, as behind 100 Continue."""
        return 100 <= self.status < 200 and self.status != 101

    @property
    def closes(self) -> bool:
        """Whether the connection ends with this message."""
        return self.headers.get("connection", "").lower() == "close"

    def with_target(self, target: str) -> Head:
        """Return the same request for another address; signatures that do not cover what changed stay right."""
        method, _, version = self.first_line
        return Head(b" ".join(part.encode("latin-1") for part in (method, target, version)) + self._behind_first_line)

    @property
    def _behind_first_line(self) -> bytes:
        return b"\r\n" + self.raw.split(b"\r\n", 1)[1]


@dataclass(frozen=True)
class Response:
    """A whole response: `sent` is its bytes, `body` what they carry."""

    head: Head
    sent: bytes
    body: bytes

    def with_body(self, body: bytes, added: Mapping[str, str]) -> bytes:
        """Return the same response with another body and other headers, ready to send."""
        gone = {"content-length", "transfer-encoding"} | {name.lower() for name in added}
        first, *lines = self.head.raw.decode("latin-1").split("\r\n")
        kept = [line for line in lines if line and line.partition(":")[0].strip().lower() not in gone]
        new = [f"{name}: {value}" for name, value in {**added, "Content-Length": str(len(body))}.items()]
        return "\r\n".join([first, *kept, *new, "", ""]).encode("latin-1") + body


async def read_head(reader: asyncio.StreamReader) -> Head | None:
    """Return the next message's head, or None where the other side has closed."""
    try:
        return Head(await reader.readuntil(b"\r\n\r\n"))
    except (asyncio.IncompleteReadError, ConnectionError):
        return None


async def body_pieces(
    reader: asyncio.StreamReader, head: Head, *, is_empty: bool, until_close: bool
) -> AsyncIterator[bytes]:
    """Iterate over the body as it comes, with the sizes between its chunks; where no header says its end, it is none or
    goes on until the other side closes."""
    if is_empty:
        return
    if "chunked" in head.headers.get("transfer-encoding", "").lower():
        async for piece in _chunks(reader):
            yield piece
    elif "content-length" in head.headers:
        left = int(head.headers["content-length"])
        while left:
            piece = await reader.read(min(left, _PIECE_BYTES))
            if not piece:
                raise ConnectionResetError("the other side closed in the middle of a body")
            left -= len(piece)
            yield piece
    elif until_close:
        while piece := await reader.read(_PIECE_BYTES):
            yield piece


def without_chunk_sizes(head: Head, sent: bytes) -> bytes:
    """Return what a body's bytes carry."""
    if "chunked" not in head.headers.get("transfer-encoding", "").lower():
        return sent
    carried = b""
    while sent:
        line, _, sent = sent.partition(b"\r\n")
        size = int(line.partition(b";")[0], 16)
        if not size:
            break
        carried, sent = carried + sent[:size], sent[size + 2 :]
    return carried


async def _chunks(reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
    while True:
        line = await reader.readuntil(b"\r\n")
        yield line
        size = int(line.partition(b";")[0], 16)
        if not size:
            break
        yield await reader.readexactly(size + 2)
    while (line := await reader.readuntil(b"\r\n")) != b"\r\n":
        yield line
    yield line
