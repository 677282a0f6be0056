"""The files of a thread that go along with its conversation: into a fork, or into a thread that is assigned.

Theory. Before the other thread begins, each of the files has an upload there, with the text of the thread's source. The
thread's first event decides: the uploads become files if the thread has begun with that source, and nothing comes of
them if not. Each attempt has uploads of its own, so each is counted once. Where several attempts had one source, one
upload of each file becomes it. What a process leaves that dies is due as any upload is: the next request, or the
upkeep, goes on with it.

In one account a file gets the content that is there, by its hash, so a fork costs no bytes. For another owner the bytes
are copied. The files count in the sums of the account, and are not refused: the conversation has come already.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterable, Sequence

from hosting.core.cells import Cells
from hosting.core.thread_log import ThreadLog
from hosting.errors import UnknownThreadError
from hosting.features.uploads.lives import FileLives
from hosting.features.uploads.records import Origin, Scope, UploadedFile, new_file_id
from hosting.features.uploads.refusals import (
    FileTooLargeError,
    UnknownFileError,
    UnknownUploadError,
    UploadMismatchError,
)
from hosting.ports import ClockClient

EXPIRES_SECONDS = 86_400.0
"""So long a file waits for its thread to begin."""
_PART = "0"
_AT_ONCE = 4


class Carrying:
    """Takes files along between the threads of one app. Raises `LogUnavailableError`, `AttachmentsUnavailableError`."""

    def __init__(self, cells: Cells, lives: FileLives, log: ThreadLog) -> None:
        self._cells, self._lives, self._log = cells, lives, log

    async def begin(self, origin: Scope, target: Scope, source: str, before: float | None) -> None:
        """Have an upload for each file of a thread that was there `before` that moment; None is for all of them."""
        files = [file for file in await self._known(origin) if file.state == "stored"]
        wanted = [file for file in files if before is None or file.created_at < before]
        await _at_once([self._expect(origin, target, source, file) for file in wanted])

    async def finish(self, target: Scope, source: str, client: ClockClient) -> None:
        """Make files of these uploads: their thread has begun with the source."""
        known = await self._known(target)
        there = {_same(file) for file in known if file.state == "stored"}
        brought, others = dict[tuple[float, str], UploadedFile](), list[UploadedFile]()
        for file in _waiting(known, source):
            is_first = _same(file) not in there and brought.setdefault(_same(file), file) is file
            if not is_first:
                others.append(file)
        await _at_once([self._bring(target, file, client) for file in brought.values()])
        for file in others:
            await self._lives.remove(target, file.id)

    async def give_up(self, target: Scope, source: str) -> None:
        """Remove these uploads: no thread begins with the source."""
        for file in _waiting(await self._known(target), source):
            await self._lives.remove(target, file.id)

    async def resume(self, scope: Scope, name: str, client: ClockClient) -> None:
        """Go on with what a process left under that name, if it is such an upload and its thread has begun."""
        file = await self._lives.read(scope, name)
        if file is None or file.origin is None or file.state != "uploading":
            return
        head = await self._log.head(scope.address)
        if head.state != "open" or head.epoch != scope.epoch or head.imported is None:
            return
        if head.imported.source == file.origin.source:
            await self.finish(scope, file.origin.source, client)

    async def _known(self, scope: Scope) -> list[UploadedFile]:
        cell = scope.cell("")
        payloads = await self._cells.siblings(cell)
        records = (cell.kind.decode(payload) for key, payload in payloads.items() if key.startswith(scope.prefix))
        return [file for file in records if file is not None]

    async def _expect(self, origin: Scope, target: Scope, source: str, file: UploadedFile) -> None:
        carried = UploadedFile(
            id=new_file_id(file.created_at),
            name=file.name,
            media_type=file.media_type,
            purpose=file.purpose,
            bytes=file.bytes,
            created_at=file.created_at,
            expires_at=self._log.clocks.wall() + EXPIRES_SECONDS,
            thread_id=target.thread_id,
            epoch=target.epoch,
            origin=Origin(
                source=source, scope=(origin.agent, origin.owner, origin.thread_id, origin.epoch), file_id=file.id
            ),
        )
        await self._lives.expect(target, carried)

    async def _bring(self, target: Scope, file: UploadedFile, client: ClockClient) -> None:
        """Make a file of an upload; where its origin is gone meanwhile, nothing comes of it."""
        assert file.origin is not None
        origin = Scope(*file.origin.scope)
        try:
            known = await self._lives.read(origin, file.origin.file_id)
            if known is None or known.state != "stored":
                raise UnknownFileError("The file was deleted while it went along with its conversation.")
            parts, is_shared = known.parts, origin.account == target.account
            if not is_shared:
                pieces = self._lives.contents.read(origin.account, known.content, known.parts)
                written = await self._lives.contents.write(target.account, file.id, _PART, pieces, known.bytes)
                parts = (written.part,)
            await self._lives.store(target, file, parts, known.sha256, client, is_shared=is_shared)
        except (UnknownFileError, FileTooLargeError, UploadMismatchError):
            await self._lives.remove(target, file.id)
        except (UnknownUploadError, UnknownThreadError):  # it was removed meanwhile, alone or with its thread
            return


def _waiting(files: Iterable[UploadedFile], source: str) -> list[UploadedFile]:
    """Return the uploads among files that wait for a thread with that source, the oldest first."""
    return [file for file in files if file.state == "uploading" and file.origin and file.origin.source == source]


def _same(file: UploadedFile) -> tuple[float, str]:
    """Return what a file has in common with the one that it was in another thread."""
    return file.created_at, file.name


async def _at_once(works: Sequence[Awaitable[None]]) -> None:
    gate = asyncio.Semaphore(_AT_ONCE)

    async def done(work: Awaitable[None]) -> None:
        async with gate:
            await work

    await asyncio.gather(*map(done, works))
