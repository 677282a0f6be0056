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
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from contextlib import aclosing
from typing import Any

from hosting.core.archiving import PAGE_BYTES
from hosting.core.owners import Owners
from hosting.core.threads import ThreadExport, Threads
from hosting.core.turns import LargeReads
from hosting.errors import HostingError, ThreadDeletingError, UnknownThreadError
from hosting.http.bodies import Export
from hosting.http.replies import Streamed
from hosting.names import Address
from hosting.ports import EntityClient
from hosting.principal import Caller
from state.codec import write

_PIECE_BYTES = 256 * 1024

FieldsOf = Callable[[Address, ThreadExport, Caller | None], Export]
"""The parts of a thread beside its conversation and attachments, perhaps for a reader with whom it is shared."""


class Exports:
    """The exports of one app, for one event loop."""

    def __init__(self, threads: Threads, owners: Owners, reads: LargeReads, fields_of: FieldsOf) -> None:
        self._threads = threads
        self._owners = owners
        self._reads = reads
        self._fields_of = fields_of

    async def thread(
        self, address: Address, client: EntityClient, headers: Mapping[str, str], reader: Caller | None = None
    ) -> Streamed:
        """Return everything that is kept about a thread; raises as `Threads.export` does.

        A `reader` with whom the thread is shared gets what is for them.
        """
        return await _begun(self._thread(address, client, reader), headers)

    async def owner(
        self, owner: str, after: tuple[str, str], limit: int, client: EntityClient, members: Mapping[str, object]
    ) -> Streamed:
        """Return these members, the owner's next threads after that agent and id, and the `next_cursor` of more.

        Raises as `Threads.export` does for the first of them; one that is deleted meanwhile is left out.
        """
        return await _begun(self._owner(owner, after, limit, client, members), {})

    async def _owner(
        self, owner: str, after: tuple[str, str], limit: int, client: EntityClient, members: Mapping[str, object]
    ) -> AsyncGenerator[bytes, None]:
        before = _json(members)[:-1] + b', "threads": ['
        last: Address | None = None
        count = sent = 0
        cursor: str | None = None
        async for address, state in self._owners.listed(owner, after):
            if state != "open":
                continue
            if last is not None and (count == limit or sent >= PAGE_BYTES):
                cursor = f"{last.agent}~{last.thread_id}"
                break
            begins = True
            try:
                async for piece in self._thread(address, client):
                    yield (before if begins else b"") + piece
                    begins, before, sent = False, b", ", sent + len(piece)
            except (UnknownThreadError, ThreadDeletingError):
                if not begins:
                    raise
                continue
            except HostingError:
                if last is None or not begins:
                    raise
                cursor = f"{last.agent}~{last.thread_id}"
                break
            last, count = address, count + 1
        yield (before if last is None else b"") + b'], "next_cursor": ' + _json(cursor) + b"}"

    async def _thread(
        self, address: Address, client: EntityClient, reader: Caller | None = None
    ) -> AsyncGenerator[bytes, None]:
        async with self._reads.turn(address.owner):
            export = await self._threads.export(address, client)
            attachments = export.attachments
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
        for piece in _pieces(after):
            yield piece

    def _around_attachments(self, address: Address, export: ThreadExport, reader: Caller | None) -> tuple[bytes, bytes]:
        """Return the text before and after the attachments."""
        parts = [b"", b""]
        for name, value in self._fields_of(address, export, reader).items():
            which = 1 if parts[1] else 0
            separator = b", " if parts[0] else b"{"
            member = separator + _json(name) + b": "
            if name == "attachments":
                parts[0] += member + b"["
                parts[1] = b"]"
            elif name == "conversation" and export.conversation is not None:
                parts[which] += member + write(export.conversation).encode()
            else:
                parts[which] += member + _json(value)
        return parts[0], parts[1] + b"}"


async def _begun(pieces: AsyncGenerator[bytes, None], headers: Mapping[str, str]) -> Streamed:
    """Return the response once its first piece exists, so that a refusal has its status."""
    first = await anext(pieces)

    async def frames() -> AsyncGenerator[bytes, None]:
        async with aclosing(pieces):
            yield first
            async for piece in pieces:
                yield piece

    return Streamed(frames(), headers, "application/json")


def _attachment(name: str, content: bytes) -> bytes:
    return _json({"sha256": name, "size_bytes": len(content), "base64": b64encode(content).decode()})


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()


def _pieces(text: bytes) -> Iterable[bytes]:
    for at in range(0, len(text), _PIECE_BYTES):
        yield text[at : at + _PIECE_BYTES]
