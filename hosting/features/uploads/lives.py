"""The life of a file: uploaded, stored, removed; and the rest of what a process left that died on the way.

Theory. Before the first write a name is put among what is due, and it is taken away after the last. Between the two the
file's cell says how far it is, and each step may be repeated: a process that finds the name continues there (`resume`).

An upload: the cell, the bytes in the quota, the pieces, the hash into the cell, the file into the cell of its content,
and then the cell says `stored`: from this moment there is a file. A content that was there already is taken, and the
pieces that came again go.

A removal: the cell says `removing`, and there is no file any more. The follower removes what it made. The file leaves
its content, which goes with the last one, and the cell goes. The cell of a broken upload stays without its name for
some hours: a process that still puts pieces finds it, or puts them before they are looked for again.

A thread's file has a record among the attachments of that life of the thread, which is put before the file is there.
So a deletion of the thread finds it there, or the file finds the thread deleted.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import suppress
from typing import Protocol

from msgspec import Struct

from hosting.core.cells import Cells
from hosting.core.deletion import UNUSED_SECONDS
from hosting.core.stores.contract import MOST_HEAD_BYTES
from hosting.core.stores.stores import Stores
from hosting.core.thread_log import ThreadLog, epoch_store_key
from hosting.errors import HostingError, UnknownThreadError
from hosting.features.uploads.contents import Contents
from hosting.features.uploads.ledger import Ledgers
from hosting.features.uploads.records import CONTENTS, RECORD, Account, Part, Scope, SharedContent, UploadedFile
from hosting.features.uploads.refusals import UnknownFileError, UnknownUploadError, UploadMismatchError
from hosting.names import StoreKey
from hosting.ports import ClockClient

logger = logging.getLogger(__name__)

_Stored = UploadedFile | None
_Change = Callable[[_Stored], _Stored]

_GONE = "-gone"
"""The end of the name of a file that is due because it is removed: who uploads it does not take that name away."""

MOST_SHARING = 800
"""So many files of an account may have the same content: the cell of the content has their ids."""

_MOST_CONTENT_BYTES = MOST_HEAD_BYTES - 8192
"""Of the cell of a content with its files and its parts; the rest is for the ids of uploads that are removed."""


class FollowsFiles(Protocol):
    """A follower of all files of an app. Each call may be repeated, by another process too."""

    async def stored(self, scope: Scope, file: UploadedFile, client: ClockClient) -> None:
        """Take note of a file that is there. It is called until it returns.

        Another process may remove the file at this moment: `removed` is called again then, some hours later at the
        latest.
        """

    async def removed(self, scope: Scope, file: UploadedFile) -> int:
        """Remove what was made of a file that is gone, and return how many chunks that were.

        Until it returns the removal is not done.
        """

    async def erased(self, scope: Scope) -> None:
        """Remove what is left of a scope without files."""


class Removed(Struct, frozen=True):
    """A file that was removed, as it was, and how many chunks of it; an upload that was no file yet has none."""

    file: UploadedFile
    chunks: int = 0


class FileLives:
    """The lives of one app's files. Each method raises `LogUnavailableError` and `AttachmentsUnavailableError`."""

    def __init__(self, cells: Cells, stores: Stores, log: ThreadLog, ledgers: Ledgers) -> None:
        self.follower: FollowsFiles | None = None
        self.contents = Contents(stores)
        self._cells, self._stores, self._log, self._ledgers = cells, stores, log, ledgers
        self._clocks = log.clocks

    async def read(self, scope: Scope, file_id: str) -> UploadedFile | None:
        """Return the record of a file in whatever state."""
        return await self._cells.read(scope.cell(file_id))

    async def scope_of_due(self, account: Account, file_id: str) -> Scope | None:
        """Return the scope of a file with which something is left to do, an open upload among them."""
        due = await self._stores.attachments.read(account.due(self._stores.hub), [file_id])
        return Scope.of_text(due[file_id]) if file_id in due else None

    async def begin(self, scope: Scope, file: UploadedFile, size: int | None, most_bytes: int) -> UploadedFile:
        """Open an upload that may have `size` bytes, and return it. Raises as `Ledgers.reserve` and `check_thread`."""
        await self.check_thread(scope)
        await self._stores.attachments.put(scope.account.due(self._stores.hub), {file.id: scope.text})
        await self._change(scope, file.id, lambda _: file, is_new=True)
        try:
            reserved = await self._ledgers.reserve(scope.account, file.id, size, most_bytes)
        except HostingError:
            await self._change(scope, file.id, lambda _: None)
            await self._undue(scope, file.id)
            raise
        return file.model_copy(update={"bytes": reserved})

    async def expect(self, scope: Scope, file: UploadedFile) -> None:
        """Take note of a new file that is to come, whose thread may not be there yet; its bytes are counted as open."""
        await self._stores.attachments.put(scope.account.due(self._stores.hub), {file.id: scope.text})
        await self._ledgers.admit(scope.account, file.id, file.bytes)
        await self._change(scope, file.id, lambda _: file, is_new=True)

    async def store(
        self,
        scope: Scope,
        file: UploadedFile,
        parts: tuple[Part, ...],
        sha256: str,
        client: ClockClient,
        *,
        is_shared: bool = False,
    ) -> UploadedFile:
        """Make a file of an upload whose pieces are there, and return it as it is stored.

        Raises `UnknownUploadError` for one that was cancelled or has expired, `UploadMismatchError` for one that is
        completed otherwise at this moment, and `UnknownThreadError` where its thread was deleted meanwhile. A content
        that `is_shared` has the pieces of another file: raises `UnknownFileError` where no file has it any more.
        """
        size = sum(part.bytes for part in parts)

        def hashed(upload: UploadedFile | None) -> UploadedFile | None:
            if upload is None or upload.state == "removing":
                raise UnknownUploadError("The upload was cancelled, or has expired. Begin again.")
            if upload.sha256 not in ("", sha256):
                raise UploadMismatchError("The upload is completed with other parts. Read the file, or begin again.")
            if upload.state == "stored":
                return upload
            return upload.model_copy(update={"sha256": sha256, "parts": parts, "bytes": size})

        file = await self._change(scope, file.id, hashed) or file
        if file.state != "stored":
            shared = await self._share(scope.account, file, is_shared=is_shared)
            if scope.thread_id:
                record = {f"{RECORD}{file.id}": b"{}"}
                await self._stores.attachments.put(self._thread_key(scope), record)
            file = await self._change(scope, file.id, lambda upload: self._stored(upload, shared)) or file
        return await self._finish(scope, file, client)

    async def remove(self, scope: Scope, file_id: str, *, keeps_record: bool = False) -> Removed | None:
        """Remove a file or an upload for good; None where there is none, or its removal had begun.

        With `keeps_record` a thread's record of the file stays, which the deletion of the thread counts and removes.

        Raises what those who follow files raise: the removal is due then.
        """
        stored = await self.read(scope, file_id)
        if stored is None:
            return None
        before, mine = stored, None
        await self._stores.attachments.put(scope.account.due(self._stores.hub), {f"{file_id}{_GONE}": scope.text})

        def removed(file: UploadedFile | None) -> UploadedFile | None:
            nonlocal before, mine
            if file is None or file.state == "removing":
                return file
            before = file
            is_in_flight = file.due or not file.counted
            until = self._clocks.wall() + UNUSED_SECONDS if is_in_flight else None
            changes = {"state": "removing", "name": "", "media_type": "", "purpose": "", "expires_at": until}
            mine = file.model_copy(update={**changes, "parts": (), "origin": None})
            return mine

        file = await self._change(scope, file_id, removed)
        if file is None:
            await self._undue(scope, f"{file_id}{_GONE}")
            return None
        chunks = await self._take_away(scope, file, keeps_record=keeps_record)
        return Removed(before, chunks) if file is mine else None  # of processes that meet, one counts it

    async def resume(self, scope: Scope, name: str, client: ClockClient) -> bool:
        """Do what is left to do by that name of something due, and return whether nothing is."""
        file_id = name.removesuffix(_GONE)
        file = await self.read(scope, file_id)
        if file is None:
            await self._ledgers.forget(scope.account, file_id)
        elif file.state == "stored":
            with suppress(UnknownThreadError):  # and so it is removed
                file = await self._finish(scope, file, client)
            if file.due:
                return False
        elif file.state == "uploading" and self._clocks.wall() < (file.expires_at or 0.0):
            return False
        else:
            await self.remove(scope, file_id)
            if await self.read(scope, file_id) is not None:
                return False
        await self._undue(scope, name)
        return True

    async def announce(self, scope: Scope, file: UploadedFile, client: ClockClient) -> UploadedFile:
        """Announce a file that is there to the follower; a failure leaves that due."""
        if not file.due or self.follower is None:
            return file
        try:
            await self.follower.stored(scope, file, client)
        except HostingError as error:
            logger.warning("File %s is not followed yet: %s.", file.id, type(error).__name__)
            return file
        announced = await self._change(scope, file.id, _announced)
        if announced is None or announced.state != "stored":  # it was removed meanwhile
            await self.follower.removed(scope, file)
        return announced or file

    async def check_thread(self, scope: Scope) -> None:
        """Raise `UnknownThreadError` where the scope is a life of a thread that has ended."""
        if scope.thread_id:
            head = await self._log.head(scope.address)
            if head.state != "open" or head.epoch != scope.epoch:
                raise UnknownThreadError(f"There is no thread {scope.thread_id[:80]!r}. It was deleted.")

    async def _share(self, account: Account, file: UploadedFile, *, is_shared: bool = False) -> SharedContent:
        """Return the content of that hash, which the file has from now on: one that was there, or its own."""

        def shared(content: SharedContent | None) -> SharedContent:
            known = content or SharedContent()
            if file.id in known.barred:
                raise UnknownUploadError("The upload was cancelled, or has expired. Begin again.")
            if file.id in known.files:
                return known
            if is_shared and not known.files:
                raise UnknownFileError("The file was deleted while it went along with its conversation.")
            joined = known.joined(file)
            if len(joined.files) > MOST_SHARING or len(CONTENTS.encode(joined) or b"") > _MOST_CONTENT_BYTES:
                raise UploadMismatchError(
                    f"{len(known.files)} files of this owner have the very same content, which is the most. Delete "
                    "some of them."
                )
            return joined

        content: SharedContent = await self._cells.change(account.cell(CONTENTS, file.sha256), shared)
        return content

    def _stored(self, upload: UploadedFile | None, shared: SharedContent) -> UploadedFile | None:
        if upload is None or upload.state != "uploading":
            return upload
        changes: dict[str, object] = {"state": "stored", "content": shared.id, "parts": shared.parts}
        return upload.model_copy(
            update={
                **changes,
                "expires_at": None,
                "counted": True,
                "due": self.follower is not None,
                "origin": None,
            }
        )

    async def _finish(self, scope: Scope, file: UploadedFile, client: ClockClient) -> UploadedFile:
        """Do what follows the moment from which there is a file; raises as `store`."""
        if file.state != "stored":
            raise UnknownUploadError("The upload was cancelled meanwhile. Begin again.")
        try:
            await self.check_thread(scope)
        except UnknownThreadError:
            await self.remove(scope, file.id)
            raise
        await self._ledgers.commit(scope.account, file.id, file.bytes)
        if file.content != file.id:
            await self.contents.erase(scope.account, file.id)
        elif file.in_parts:
            await self.contents.erase(scope.account, file.id, but=file.parts)
        file = await self.announce(scope, file, client)
        if not file.due and not (file.in_parts and scope.thread_id):  # a completion that is sent again finds its thread
            await self._undue(scope, file.id)
        return file

    async def _take_away(self, scope: Scope, file: UploadedFile, *, keeps_record: bool = False) -> int:
        """Do what follows the moment from which there is no file, and return how many chunks were removed."""
        account, chunks = scope.account, 0
        is_in_flight = self._clocks.wall() < (file.expires_at or 0.0)
        if file.sha256:
            if self.follower is not None:
                chunks = await self.follower.removed(scope, file)
            file = await self._with_content(scope, file)
            kept = await self._leave(account, file, barred=is_in_flight and not file.counted)
            for content in {file.content, file.id} - {""}:
                await self.contents.erase(account, content, but=kept.parts if content == kept.id else ())
        else:
            await self.contents.erase(account, file.id)
        if scope.thread_id and not keeps_record:
            await self._stores.attachments.erase(self._thread_key(scope), [f"{RECORD}{file.id}"])
        ledger = await self._ledgers.read(account)
        if await self.read(scope, file.id) is not None:  # else another process came first
            await self._ledgers.release(account, ledger.id, file.id, file.bytes if file.counted else None)
        if not is_in_flight:
            await self._change(scope, file.id, lambda _: None)
            await self._ledgers.forget(account, file.id)
            await self._undue(scope, file.id, f"{file.id}{_GONE}")
        await self._cells.store.scrub()  # also where a call before this one was broken off
        return chunks

    async def _leave(self, account: Account, file: UploadedFile, *, barred: bool) -> SharedContent:
        """Take a file out of its content, and return the content that others have, or one without files."""

        def left(shared: SharedContent | None) -> SharedContent | None:
            known = shared or SharedContent()
            is_known = file.id in known.files or (file.id in known.barred) != barred
            return known.left(file.id, barred=barred) if is_known else shared

        return await self._cells.change(account.cell(CONTENTS, file.sha256), left) or SharedContent()

    async def _with_content(self, scope: Scope, file: UploadedFile) -> UploadedFile:
        """Return a file that is removed with the id of its content, which an upload may not have had yet."""
        if file.content:
            return file
        content = scope.account.cell(CONTENTS, file.sha256)
        shared = await self._cells.change(content, lambda known: (known or SharedContent()).barring(file.id))
        if shared is None or file.id not in shared.files:
            return file
        update = {"content": shared.id}
        with_content = await self._change(
            scope, file.id, lambda stored: None if stored is None else stored.model_copy(update=update)
        )
        return with_content or file.model_copy(update=update)

    async def _change(self, scope: Scope, file_id: str, changed: _Change, *, is_new: bool = False) -> _Stored:
        return await self._cells.change(scope.cell(file_id), changed, is_new=is_new)

    async def _undue(self, scope: Scope, *names: str) -> None:
        await self._stores.attachments.erase(scope.account.due(self._stores.hub), names)

    def _thread_key(self, scope: Scope) -> StoreKey:
        return epoch_store_key(self._stores.hub, scope.address, scope.epoch)


def _announced(file: UploadedFile | None) -> UploadedFile | None:
    return file if file is None or file.state != "stored" else file.model_copy(update={"due": False})
