"""Exports: they may be very large, so they are made and sent piece by piece.

Theory. Of an export this process holds one thread's conversation, or one of its attachments, and never the answer. A
thread is read in a turn of the caller's (`LargeReads`): so however many exports are asked for, what they hold is a few
threads, and for each export the text that its reader has not taken yet of one.

A page ends after so many bytes, and where a thread cannot be read after others were sent. What fails before the first
piece is refused as everywhere; what fails within a thread breaks the connection off, and no JSON is whole then.
"""

from __future__ import annotations

import asyncio
import json
from base64 import b64encode
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Mapping, Sequence
from contextlib import aclosing
from typing import Any

from hosting.core.hooks import ThreadData
from hosting.core.thread_view import ThreadExport
from hosting.core.threads import Threads
from hosting.core.turns import LargeReads
from hosting.http.replies import Streamed, thread_headers
from hosting.http.request import HttpRequest
from hosting.http.thread_replies import export_fields
from hosting.names import Address
from hosting.plan import Plan
from hosting.ports import Clocks, EntityClient, KeptContent
from hosting.principal import Caller
from state.codec import write

_PIECE_BYTES = 256 * 1024


class Exports:
    """The exports of one app, for one event loop."""

    def __init__(
        self, threads: Threads, reads: LargeReads, plan: Plan, clocks: Clocks, data: Sequence[ThreadData]
    ) -> None:
        """The callers take turns with `reads`; features keep this `data` of threads."""
        self._threads = threads
        self._reads = reads
        self._plan = plan
        self._clocks = clocks
        self._data = data

    async def thread(self, request: HttpRequest) -> Streamed:
        """Return everything that is kept about the thread in the path; raises as `Threads.export` does.

        A caller with whom the thread is shared gets what is for them.
        """
        reader = None if request.shared is None else request.caller
        pieces = self.pieces(request.address, request.caller.client, reader)
        return await begin_export(pieces, thread_headers(request.thread_id))

    async def pieces(
        self, address: Address, client: EntityClient, reader: Caller | None = None
    ) -> AsyncGenerator[bytes, None]:
        """Yield the same, piece by piece; a `reader` is somebody with whom the thread is shared."""
        async with self._reads.turn(address.owner):
            export = await self._threads.export(address, client)
            attachments, epoch = export.attachments, export.view.head.epoch
            before, after = await asyncio.to_thread(self._around_attachments, address, export, reader)
            del export  # it is many times as large as its text
        for piece in _pieces(before):
            yield piece
        separator = b""
        for name in sorted(attachments.names):
            async with self._reads.turn(address.owner):
                content = await attachments.read(name)
                item = None if content is None else await asyncio.to_thread(_attachment, name, content)
                del content
            if item is not None:
                for piece in _pieces(separator + item):
                    yield piece
                separator = b", "
        for piece in _pieces(after[:-1]):
            yield piece
        for member, read in [each for part in self._data for each in part.contents.items()]:
            contents = read(address, epoch) if reader is None else no_contents()
            async for piece in self.contents(member, contents, address.owner):
                yield piece
        yield after[-1:]

    async def contents(
        self, member: str, contents: AsyncIterator[KeptContent], owner: str
    ) -> AsyncGenerator[bytes, None]:
        """Yield a member of large contents, piece by piece, with the comma before it; the owner takes a turn for each.

        Raises what its reader does.
        """
        yield b", " + json_bytes(member) + b": ["
        separator = b""
        async for content in contents:
            head = json_bytes({"sha256": content.sha256, "size_bytes": content.size_bytes})
            yield separator + head[:-1] + b', "base64": "'
            rest, separator = b"", b", "
            while True:
                async with self._reads.turn(owner):
                    if (piece := await anext(content.pieces, None)) is None:
                        break
                    whole = len(rest + piece) // 3 * 3  # so that the texts of two pieces make one
                    encoded = await asyncio.to_thread(b64encode, (rest + piece)[:whole])
                    rest = (rest + piece)[whole:]
                for part in _pieces(encoded):
                    yield part
            yield b64encode(rest) + b'"}'
        yield b"]"

    def _around_attachments(self, address: Address, export: ThreadExport, reader: Caller | None) -> tuple[bytes, bytes]:
        """Return the text before and after the attachments."""
        name = self._plan.names.get(address.agent, address.agent)
        fields, parts = export_fields(name, export, self._clocks.wall(), reader), [b"", b""]
        for name, value in fields.items():
            which = 1 if parts[1] else 0
            separator = b", " if parts[0] else b"{"
            member = separator + json_bytes(name) + b": "
            if name == "attachments":
                parts[0] += member + b"["
                parts[1] = b"]"
            elif name == "conversation" and export.conversation is not None:
                parts[which] += member + write(export.conversation).encode()
            else:
                parts[which] += member + json_bytes(value)
        return parts[0], parts[1] + b"}"


async def no_contents() -> AsyncGenerator[KeptContent, None]:
    """Yield nothing: for a reader to whom contents are not shown, and on pages behind the first."""
    none: Sequence[KeptContent] = ()
    for content in none:
        yield content


async def begin_export(pieces: AsyncGenerator[bytes, None], headers: Mapping[str, str]) -> Streamed:
    """Return the response once its first piece exists, so that a refusal has its status."""
    first = await anext(pieces)

    async def frames() -> AsyncGenerator[bytes, None]:
        async with aclosing(pieces):
            yield first
            async for piece in pieces:
                yield piece

    return Streamed(frames(), headers, "application/json")


def _attachment(name: str, content: bytes) -> bytes:
    return json_bytes({"sha256": name, "size_bytes": len(content), "base64": b64encode(content).decode()})


def json_bytes(value: Any) -> bytes:
    """Return a value as JSON."""
    return json.dumps(value, ensure_ascii=False).encode()


def _pieces(text: bytes) -> Iterable[bytes]:
    for at in range(0, len(text), _PIECE_BYTES):
        yield text[at : at + _PIECE_BYTES]
