"""One HTTP/1.1 exchange with an address that a caller chose, bounded in bytes and time.

Theory. Whoever is there may send anything, as fast as it likes and without end: informational responses, headers, a
body, or one byte now and then. A client that reads until a response is complete never gives the event loop back while
there are bytes, and no time limit ends it. So this one counts every byte of a head, informational responses among it,
and of a body, and lets go where either has too many; the connection's buffer takes little more ahead. Each exchange has
a connection of its own. A redirect is an answer like any other. There are no cookies, proxies and compressed bodies.
"""

from __future__ import annotations

import asyncio
import re
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager, suppress
from functools import cache
from urllib.parse import SplitResult, urlsplit

from msgspec import Struct

MOST_HEAD_BYTES = 65_536
"""Of all that comes before a body, informational responses included."""
_CONNECT_SECONDS = 3.0
"""For so long an address of a host is tried that has another one."""
_STATUS = re.compile(rb"HTTP/1\.[01] ([1-9]\d\d)(?: .*)?")
_CHUNK = re.compile(rb"([0-9A-Fa-f]{1,8})[ \t]*(?:;.*)?")
_SWITCHING = 101

Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
"""Returns the addresses of a host and port, the best first; its exceptions end the exchange."""


class UnreadableAnswerError(Exception):
    """The answer is not HTTP, has too many bytes, or ends before it is complete."""


class OversizedAnswerError(UnreadableAnswerError):
    """The body of the answer has more bytes than it may have."""


class FinalAnswer(Struct, frozen=True):
    """The final response: its status, and its body where one was wanted."""

    status: int
    body: bytes = b""


class StreamedAnswer(Struct, frozen=True):
    """The final response: its status, its fields by their names in lower case, and its body as it comes."""

    status: int
    fields: Mapping[str, str]
    pieces: AsyncGenerator[bytes, None]


async def exchange(
    method: str,
    url: str,
    headers: Mapping[str, str],
    body: bytes = b"",
    *,
    resolve: Resolve,
    most_body_bytes: int = 0,
) -> FinalAnswer:
    """Return the answer to a request; its body is read where it may have bytes at all.

    Raises `UnreadableAnswerError`, `OSError` where nobody is reached, `ssl.SSLError` among it, and `ValueError` for
    what cannot be sent. The caller bounds the time: nothing is left behind by a call that is cancelled.
    """
    parts = urlsplit(url)
    request = _request(method, parts, headers, body)
    reader, writer = await _connected(parts, resolve)
    try:
        writer.write(request)
        status, fields = await _head(reader)
        return FinalAnswer(status, await _body(reader, fields, most_body_bytes) if most_body_bytes else b"")
    except (EOFError, asyncio.LimitOverrunError) as error:
        raise UnreadableAnswerError("The answer ended early, or one of its lines is too long.") from error
    finally:
        writer.transport.abort()  # an orderly end would wait for the other side, and read what it still sends


@asynccontextmanager
async def streamed_exchange(
    method: str, url: str, headers: Mapping[str, str], *, resolve: Resolve, most_body_bytes: int
) -> AsyncIterator[StreamedAnswer]:
    """Enter the block with the answer to a request without a body; its own body comes as it is read.

    Raises as `exchange`, also where the body is read.
    """
    parts = urlsplit(url)
    request = _request(method, parts, headers, b"")
    reader, writer = await _connected(parts, resolve)

    async def pieces() -> AsyncGenerator[bytes, None]:
        async with aclosing(_pieces(reader, fields, most_body_bytes)) as body:
            async for piece in body:
                yield piece

    try:
        writer.write(request)
        status, fields = await _head(reader)
        shown = {name.decode("latin-1"): value.decode("latin-1") for name, value in fields.items()}
        yield StreamedAnswer(status, shown, pieces())
    except (EOFError, asyncio.LimitOverrunError) as error:
        raise UnreadableAnswerError("The answer ended early, or one of its lines is too long.") from error
    finally:
        writer.transport.abort()


def _request(method: str, parts: SplitResult, headers: Mapping[str, str], body: bytes) -> bytes:
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    fields = {"host": parts.netloc.rpartition("@")[2], "accept": "*/*", **headers, "connection": "close"}
    if body or method != "GET":
        fields["content-length"] = str(len(body))
    lines = [f"{method} {target} HTTP/1.1", *(f"{name}: {value}" for name, value in fields.items())]
    if any(set("\r\n\0") & set(line) for line in lines):
        raise ValueError("A header contains a line break.")
    return "\r\n".join([*lines, "", ""]).encode() + body


_Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def _connected(parts: SplitResult, resolve: Resolve) -> _Streams:
    host, is_tls = parts.hostname or "", parts.scheme == "https"
    port = parts.port or (443 if is_tls else 80)

    async def opened(address: str) -> _Streams:
        context, name = (_tls(), host) if is_tls else (None, None)
        return await asyncio.open_connection(address, port, limit=MOST_HEAD_BYTES, ssl=context, server_hostname=name)

    *others, last = await resolve(host, port)
    for address in others:
        with suppress(OSError):  # the next address may answer
            return await asyncio.wait_for(opened(address), _CONNECT_SECONDS)
    return await opened(last)


@cache
def _tls() -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.set_alpn_protocols(["http/1.1"])
    return context


async def _head(reader: asyncio.StreamReader) -> tuple[int, Mapping[bytes, bytes]]:
    """Return the status and the fields of the final response, behind informational ones."""
    left = MOST_HEAD_BYTES
    while True:
        line, left = await _line(reader, left)
        if (match := _STATUS.fullmatch(line)) is None:
            raise UnreadableAnswerError("The answer is not HTTP.")
        fields = dict[bytes, bytes]()
        while line:
            line, left = await _line(reader, left)
            name, _, value = line.partition(b":")
            fields[name.lower()] = value.strip()
        status = int(match[1])
        if status >= 200 or status == _SWITCHING:
            return status, fields


async def _line(reader: asyncio.StreamReader, left: int) -> tuple[bytes, int]:
    """Return the next line without its end, and of how many bytes the following may be."""
    line = await reader.readuntil(b"\n")
    if len(line) > left:
        raise UnreadableAnswerError("The answer has too many bytes in its headers or around its chunks.")
    return line.rstrip(b"\r\n"), left - len(line)


async def _body(reader: asyncio.StreamReader, fields: Mapping[bytes, bytes], most: int) -> bytes:
    """Return the body, of at most so many bytes."""
    return b"".join([piece async for piece in _pieces(reader, fields, most)])


async def _pieces(
    reader: asyncio.StreamReader, fields: Mapping[bytes, bytes], most: int
) -> AsyncGenerator[bytes, None]:
    """Yield a body as it comes, of at most so many bytes."""
    if fields.get(b"transfer-encoding", b"").lower() == b"chunked":
        async for piece in _chunks(reader, most):
            yield piece
        return
    length = fields.get(b"content-length")
    if length is not None:
        if not length.isdigit() or int(length) > most:
            raise OversizedAnswerError(f"The answer's body has more than {most} bytes.")
        async for piece in _exactly(reader, int(length)):
            yield piece
        return
    size = 0
    while piece := await reader.read(MOST_HEAD_BYTES):
        size += len(piece)
        if size > most:
            raise OversizedAnswerError(f"The answer's body has more than {most} bytes.")
        yield piece


async def _exactly(reader: asyncio.StreamReader, size: int) -> AsyncGenerator[bytes, None]:
    while size:
        piece = await reader.readexactly(min(size, MOST_HEAD_BYTES))
        size -= len(piece)
        yield piece


async def _chunks(reader: asyncio.StreamReader, most: int) -> AsyncGenerator[bytes, None]:
    left, total = MOST_HEAD_BYTES, 0
    while True:
        line, left = await _line(reader, left)
        if (match := _CHUNK.fullmatch(line)) is None:
            raise UnreadableAnswerError("The answer's body is not in valid chunks.")
        size = int(match[1], 16)
        total += size
        if total > most:
            raise OversizedAnswerError(f"The answer's body has more than {most} bytes.")
        if not size:
            return
        async for piece in _exactly(reader, size):
            yield piece
        if (await _line(reader, left))[0]:
            raise UnreadableAnswerError("The answer's body is not in valid chunks.")
