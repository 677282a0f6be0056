"""The bytes of files, as pieces among the objects of the attachments' store: no process holds a whole file.

A content is a list of parts, and a part is pieces of `PIECE_BYTES` each, the last one shorter. So any byte is found
without reading another piece, and what was put is found by the content's id, whatever process put it.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing

from msgspec import Struct

from hosting.core.stores.stores import Stores
from hosting.features.uploads.records import Account, Part
from hosting.features.uploads.refusals import FileTooLargeError, UnknownFileError

PIECE_BYTES = 4 * 1024 * 1024


class Written(Struct, frozen=True):
    """A part as it was written; `sha256` and `md5` are of its bytes, in hexadecimal digits."""

    part: Part
    sha256: str
    md5: str


class Contents:
    """The contents of one app's files. Each method raises `AttachmentsUnavailableError`."""

    def __init__(self, stores: Stores) -> None:
        self._objects, self._hub = stores.attachments, stores.hub

    async def write(
        self, account: Account, content: str, part_id: str, body: AsyncIterator[bytes], most_bytes: int
    ) -> Written:
        """Store a part of a content as it comes. A failure may leave some of its pieces.

        Raises `FileTooLargeError` as soon as there are more than `most_bytes`, and what `body` raises.
        """
        digests, piece, number, size = _Digests(), bytearray(), 0, 0
        async for chunk in body:
            size += len(chunk)
            if size > most_bytes:
                raise FileTooLargeError(
                    f"The file has more than {most_bytes:,} bytes, which is the most that it may have here. "
                    "Send a smaller one."
                )
            piece += chunk
            while len(piece) >= PIECE_BYTES:
                await self._put(account, f"{content}-{part_id}-{number:06}", bytes(piece[:PIECE_BYTES]), digests)
                del piece[:PIECE_BYTES]
                number += 1
        if piece:
            await self._put(account, f"{content}-{part_id}-{number:06}", bytes(piece), digests)
        return Written(Part(id=part_id, bytes=size), *digests.hexadecimal)

    async def digests(self, account: Account, content: str, parts: Sequence[Part]) -> tuple[str, str]:
        """Return SHA-256 and MD5 of a content. Raises `UnknownFileError` if some of it is gone."""
        digests = _Digests()
        async with aclosing(self.read(account, content, parts)) as pieces:
            async for piece in pieces:
                await asyncio.to_thread(digests.update, piece)
        return digests.hexadecimal

    async def read(
        self, account: Account, content: str, parts: Sequence[Part], start: int = 0, end: int | None = None
    ) -> AsyncGenerator[bytes, None]:
        """Yield the bytes from `start` up to `end`, or all; raises `UnknownFileError` where they are gone meanwhile."""
        key, before = account.contents(self._hub), 0
        last = sum(part.bytes for part in parts) if end is None else end
        for part in parts:
            first, rest = max(0, start - before), min(part.bytes, last - before)
            while first < rest:
                name = f"{content}-{part.id}-{first // PIECE_BYTES:06}"
                piece = (await self._objects.read(key, [name])).get(name)
                if piece is None:
                    raise UnknownFileError("The file was deleted while it was read.")
                offset = first % PIECE_BYTES
                wanted = piece[offset : offset + rest - first] if offset or rest - first < len(piece) else piece
                first += len(wanted)
                yield wanted
            before += part.bytes

    async def erase(self, account: Account, content: str, but: Sequence[Part] = ()) -> None:
        """Remove a content, or all of it `but` these parts: also what no record names."""
        key, kept = account.contents(self._hub), {f"{content}-{part.id}-" for part in but}
        names = await self._objects.names(key, f"{content}-")
        if gone := [name for name in names if name.rpartition("-")[0] + "-" not in kept]:
            await self._objects.erase(key, gone)

    async def erase_part(self, account: Account, content: str, part_id: str) -> None:
        """Remove a part of a content."""
        key = account.contents(self._hub)
        if names := await self._objects.names(key, f"{content}-{part_id}-"):
            await self._objects.erase(key, names)

    async def _put(self, account: Account, name: str, piece: bytes, digests: _Digests) -> None:
        put = self._objects.put(account.contents(self._hub), {name: piece})
        await asyncio.gather(put, asyncio.to_thread(digests.update, piece))


class _Digests:
    """The digests of a content, by which it is known, and by which OpenAI's clients check it."""

    def __init__(self) -> None:
        self._sha256, self._md5 = hashlib.sha256(), hashlib.md5(usedforsecurity=False)

    def update(self, piece: bytes) -> None:
        self._sha256.update(piece)
        self._md5.update(piece)

    @property
    def hexadecimal(self) -> tuple[str, str]:
        return self._sha256.hexdigest(), self._md5.hexdigest()
