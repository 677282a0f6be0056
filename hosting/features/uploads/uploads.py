"""The files of an app: uploaded, listed, read, deleted and erased, each in its scope (`records.Scope`)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from msgspec import Struct

from hosting.core.cells import Cells
from hosting.core.stores.stores import Stores
from hosting.core.thread_log import ThreadLog
from hosting.errors import HostingError
from hosting.features.uploads.carrying import Carrying
from hosting.features.uploads.ledger import Ledgers
from hosting.features.uploads.lives import FileLives, FollowsFiles, Removed
from hosting.features.uploads.records import (
    Account,
    Part,
    Scope,
    UploadedFile,
    new_file_id,
    owner_cells,
)
from hosting.features.uploads.refusals import UnknownFileError, UnknownUploadError, UploadMismatchError
from hosting.names import new_id
from hosting.ports import ClockClient, KeptContent

UPLOAD_SECONDS = 86_400.0
"""So long an upload may take before it expires."""

MOST_PARTS = 1000
"""So many parts may come for an upload: those that came twice count."""

_PART_ID_LENGTH = 12
_WHOLE = "0"
"""The id of the only part of a file that comes in one request."""
_PAGE = 200
_REMOVED_AT_ONCE = 4


class NewFile(Struct, frozen=True):
    """A file that is to come: `size` in bytes, None where it is not known."""

    name: str
    media_type: str
    size: int | None = None
    purpose: str = ""


class Erased(Struct, frozen=True):
    """How many files were removed, how many bytes they had together, and in how many chunks they were searched."""

    files: int = 0
    bytes: int = 0
    chunks: int = 0

    @classmethod
    def of(cls, removed: Removed | None) -> Erased:
        """Return the counts of a file; an upload that was none counts nothing."""
        if removed is None or removed.file.state != "stored":
            return cls()
        return cls(1, removed.file.bytes, removed.chunks)

    def plus(self, other: Erased) -> Erased:
        """Return the sums of both."""
        return Erased(self.files + other.files, self.bytes + other.bytes, self.chunks + other.chunks)


class Uploads:
    """The files of one app, for one event loop. A file has `most_bytes` at most, and an account `quota_bytes`.

    Each method raises `LogUnavailableError`, `AttachmentsUnavailableError` and `NewerVersionError`.
    """

    def __init__(self, cells: Cells, stores: Stores, log: ThreadLog, *, most_bytes: int, quota_bytes: int) -> None:
        self.most_bytes = most_bytes
        self.ledgers = Ledgers(cells, quota_bytes)
        self.lives = FileLives(cells, stores, log, self.ledgers)
        self._contents = self.lives.contents
        self.carrying = Carrying(cells, self.lives, log)
        self._cells, self._log, self._clocks = cells, log, log.clocks

    def now(self) -> float:
        """Return the time by which files are dated, in seconds since 1970."""
        return self._clocks.wall()

    def follow(self, follower: FollowsFiles) -> None:
        """Announce each file that is stored or removed from now on to a follower."""
        self.lives.follower = follower

    async def store(self, scope: Scope, new: NewFile, body: AsyncIterator[bytes], client: ClockClient) -> UploadedFile:
        """Store a file whose bytes come now, and return it. What a failure leaves is removed, also after a kill.

        Raises `FileTooLargeError`, `FilesFullError`, and what `body` raises; of a thread `UnknownThreadError`.
        """
        file = await self._begun(scope, new, in_parts=False)
        try:
            written = await self._contents.write(scope.account, file.id, _WHOLE, body, file.bytes)
            stored = await self.lives.store(scope, file, (written.part,), written.sha256, client)
        except BaseException:
            await _to_the_end(self._given_up(scope, file.id))
            raise
        return stored

    async def begin(self, scope: Scope, new: NewFile) -> UploadedFile:
        """Open an upload by parts, which must come to the `size` together, and return it. Raises as `store`."""
        return await self._begun(scope, new, in_parts=True)

    async def add_part(self, scope: Scope, upload_id: str, body: AsyncIterator[bytes]) -> Part:
        """Store a part of an upload, and return it. A part that comes again is another one.

        Raises `UnknownUploadError`, `UploadMismatchError` for more than the upload may have, and what `body` raises.
        """
        upload = await self._upload(scope, upload_id)
        part_id = new_id()[:_PART_ID_LENGTH]
        try:
            written = await self._contents.write(scope.account, upload.id, part_id, body, upload.bytes)
            await self._cells.change(scope.cell(upload.id), partial(self._with_part, part=written.part))
        except BaseException:
            await _to_the_end(self._contents.erase_part(scope.account, upload.id, part_id))
            raise
        return written.part

    async def complete(
        self, scope: Scope, upload_id: str, part_ids: Sequence[str], md5: str | None, client: ClockClient
    ) -> UploadedFile:
        """Make a file of these parts of an upload, in this order, and return it; again returns the same.

        Raises `UnknownUploadError`, and `UploadMismatchError` where they are not the file that was announced.
        """
        upload = await self.upload(scope, upload_id)
        if upload.state == "stored":
            return await self.lives.announce(scope, upload, client)
        by_id = {part.id: part for part in upload.parts}
        if unknown := [part_id for part_id in part_ids if part_id not in by_id]:
            raise UploadMismatchError(
                f"The upload has no part {unknown[0][:80]!r}. Send the ids of its parts in order."
            )
        if len(set(part_ids)) < len(part_ids):
            raise UploadMismatchError("A part is named twice. Send the id of each part once, in their order.")
        parts = tuple(by_id[part_id] for part_id in part_ids)
        size = sum(part.bytes for part in parts)
        if size != upload.bytes:
            raise UploadMismatchError(
                f"These parts have {size:,} bytes, and the upload is for {upload.bytes:,}. Send all parts in order."
            )
        sha256, actual = await self._contents.digests(scope.account, upload.id, parts)
        if md5 is not None and md5.lower() != actual:
            raise UploadMismatchError(f"The MD5 of these parts is {actual}, not {md5[:80]!r}. Send the parts again.")
        return await self.lives.store(scope, upload, parts, sha256, client)

    async def cancel(self, scope: Scope, upload_id: str) -> UploadedFile:
        """Remove an upload by parts, and return it as it was; raises `UnknownUploadError`."""
        upload = await self._upload(scope, upload_id)
        await self.lives.remove(scope, upload.id)
        return upload

    async def upload(self, scope: Scope, upload_id: str) -> UploadedFile:
        """Return an upload by parts, or the file that it came to; raises `UnknownUploadError`."""
        upload = await self.lives.read(scope, upload_id)  # once: another process may complete it at this moment
        if upload is not None and upload.state == "stored" and upload.in_parts:
            return upload
        return self._opened(upload, upload_id)

    async def scope_of(self, account: Account, upload_id: str) -> Scope | None:
        """Return where the file will be of an upload that is open, or was just completed; None for another."""
        return await self.lives.scope_of_due(account, upload_id)

    async def page(
        self, scope: Scope, after: str, most: int, client: ClockClient | None = None
    ) -> tuple[list[UploadedFile], str]:
        """Return files after that id, the oldest first, and the id that the next page comes after; "" for none.

        With a `client`, those that the follower does not know yet are announced to it.
        """
        cell, prefix, files = scope.cell(after), scope.prefix, list[UploadedFile]()
        agent, cursor = cell.address.agent, cell.address.thread_id
        while True:
            heads = await self._log.retried(
                "read", agent, partial(self._cells.store.heads, agent, cell.owner, cursor, _PAGE)
            )
            for key, head in heads:
                if not key.startswith(prefix):
                    return files, ""
                file = cell.kind.decode(head.payload)
                if file is None or file.state != "stored":
                    continue
                if len(files) == most:
                    return files, files[-1].id
                files.append(file if client is None else await self.lives.announce(scope, file, client))
            if len(heads) < _PAGE:
                return files, ""
            cursor = heads[-1][0]

    async def files(self, scope: Scope, client: ClockClient | None = None) -> list[UploadedFile]:
        """Return all files, the oldest first; see `page`."""
        files, _ = await self.page(scope, "", 10**9, client)
        return files

    async def find(self, scope: Scope, file_id: str) -> UploadedFile | None:
        """Return a file, None where there is none."""
        file = await self.lives.read(scope, file_id)
        return None if file is None or file.state != "stored" else file

    async def read(self, scope: Scope, file_id: str) -> UploadedFile:
        """Return a file; raises `UnknownFileError`."""
        file = await self.find(scope, file_id)
        if file is None:
            raise UnknownFileError(f"There is no file {file_id[:80]!r} here.")
        return file

    def parts(
        self, scope: Scope, file: UploadedFile, start: int = 0, end: int | None = None
    ) -> AsyncGenerator[bytes, None]:
        """Yield the bytes from `start` up to `end`, or all; raises `UnknownFileError` where they go meanwhile."""
        return self._contents.read(scope.account, file.content, file.parts, start, end)

    async def stored_contents(self, scope: Scope) -> AsyncGenerator[KeptContent, None]:
        """Yield the contents of the files of a scope, each once; one that goes before it is read is left out."""
        sent = set[str]()
        for file in await self.files(scope):
            if file.sha256 in sent:
                continue
            pieces = self.parts(scope, file)
            try:
                first = await anext(pieces, b"")
            except UnknownFileError:
                continue
            sent.add(file.sha256)
            yield KeptContent(file.sha256, file.bytes, _from(first, pieces))

    async def change(self, scope: Scope, file_id: str, changed: Callable[[UploadedFile], UploadedFile]) -> UploadedFile:
        """Return a file after a change of its record; raises `UnknownFileError` where it is gone."""

        def newer(file: UploadedFile | None) -> UploadedFile:
            if file is None or file.state != "stored":
                raise UnknownFileError(f"There is no file {file_id[:80]!r} here.")
            return changed(file)

        file = await self._cells.change(scope.cell(file_id), newer)
        assert file is not None
        return file

    async def delete(self, scope: Scope, file_id: str) -> Erased:
        """Remove a file for good; what a follower cannot remove now is due. Raises as `FollowsFiles.removed`."""
        return Erased.of(await self.lives.remove(scope, file_id))

    async def erase(self, scope: Scope, *, keeps_records: bool = False) -> Erased:
        """Remove all files of a scope, and its uploads, and return how many there were.

        With `keeps_records` those stay that a thread has of its files: the deletion of the thread counts them.
        """
        cells = await self._cells.siblings(scope.cell(""))
        places = [(scope, key) for key in cells if key.startswith(scope.prefix)]
        erased = await self._erase(places, keeps_records=keeps_records)
        if self.lives.follower is not None:
            await self.lives.follower.erased(scope)
        return erased

    async def of_owner(self, agent: str, owner: str) -> list[tuple[Scope, UploadedFile]]:
        """Return all files that an owner has with an agent, "" for those with every agent; with their scopes."""
        cell = owner_cells(agent, owner)
        records = [cell.kind.decode(payload) for payload in (await self._cells.siblings(cell)).values()]
        return [(_scope(agent, owner, file), file) for file in records if file is not None and file.state == "stored"]

    async def erase_owner(self, agent: str, owner: str) -> Erased:
        """Remove all files that an owner has with an agent, "" for those with every agent."""
        cell, places = owner_cells(agent, owner), list[tuple[Scope, str]]()
        for key, payload in (await self._cells.siblings(cell)).items():
            if (file := cell.kind.decode(payload)) is not None and bool(file.thread_id) == bool(agent):
                places.append((_scope(agent, owner, file), key))
        return await self._erase(places)

    async def _erase(self, places: Sequence[tuple[Scope, str]], *, keeps_records: bool = False) -> Erased:
        gate = asyncio.Semaphore(_REMOVED_AT_ONCE)

        async def remove(scope: Scope, key: str) -> Erased:
            async with gate:
                file_id = key.removeprefix(scope.prefix)
                return Erased.of(await self.lives.remove(scope, file_id, keeps_record=keeps_records))

        erased = Erased()
        for removed in await asyncio.gather(*(remove(*place) for place in places)):
            erased = erased.plus(removed)
        return erased

    async def _begun(self, scope: Scope, new: NewFile, *, in_parts: bool) -> UploadedFile:
        now = self._clocks.wall()
        file = UploadedFile(
            id=new_file_id(now),
            name=new.name,
            media_type=new.media_type,
            purpose=new.purpose,
            bytes=new.size or 0,
            created_at=now,
            expires_at=now + UPLOAD_SECONDS,
            in_parts=in_parts,
            thread_id=scope.thread_id,
            epoch=scope.epoch,
        )
        return await self.lives.begin(scope, file, new.size, self.most_bytes)

    async def _upload(self, scope: Scope, upload_id: str) -> UploadedFile:
        return self._opened(await self.lives.read(scope, upload_id), upload_id)

    def _opened(self, upload: UploadedFile | None, upload_id: str) -> UploadedFile:
        if upload is None or not self._is_open(upload):
            raise UnknownUploadError(f"There is no open upload {upload_id[:80]!r} here.")
        return upload

    def _is_open(self, upload: UploadedFile) -> bool:
        return upload.state == "uploading" and upload.in_parts and self._clocks.wall() < (upload.expires_at or 0.0)

    def _with_part(self, upload: UploadedFile | None, part: Part) -> UploadedFile:
        if upload is None or not self._is_open(upload):
            raise UnknownUploadError("The upload was completed or cancelled, or has expired. Begin again.")
        parts = (*(known for known in upload.parts if known.id != part.id), part)
        if len(parts) > MOST_PARTS:
            raise UploadMismatchError(f"The upload has {MOST_PARTS:,} parts, which is the most. Send larger ones.")
        if sum(known.bytes for known in parts) > 2 * upload.bytes:
            raise UploadMismatchError(
                f"The parts that came have more than twice the {upload.bytes:,} bytes of the upload. Cancel it, and "
                "begin again."
            )
        return upload.model_copy(update={"parts": parts})

    async def _given_up(self, scope: Scope, file_id: str) -> None:
        """Remove an upload that failed before there was a file; where that fails too, it is due."""
        with suppress(HostingError):
            file = await self.lives.read(scope, file_id)
            if file is not None and file.state == "uploading":
                await self.lives.remove(scope, file_id)


def _scope(agent: str, owner: str, file: UploadedFile) -> Scope:
    return Scope(agent if file.thread_id else "", owner, file.thread_id, file.epoch)


async def _from(first: bytes, pieces: AsyncIterator[bytes]) -> AsyncGenerator[bytes, None]:
    yield first
    async for piece in pieces:
        yield piece


async def _to_the_end(work: Coroutine[Any, Any, None]) -> None:
    """Do the work also where the caller is cancelled."""
    await asyncio.shield(asyncio.ensure_future(work))
