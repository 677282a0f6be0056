"""Uploads over stores that outlive their process: it dies at one of its writes, or has others beside it."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any

from hosting.core.cells import Cells
from hosting.core.stores.archive import Archive
from hosting.core.stores.memory import MemoryObjects, MemoryThreadStore
from hosting.core.stores.stores import Stores
from hosting.core.thread_log import ThreadLog
from hosting.features.uploads.records import CONTENTS, Scope, SharedContent, UploadedFile
from hosting.features.uploads.upkeep import FilesUpkeep
from hosting.features.uploads.uploads import NewFile, Uploads
from hosting.names import StoreKey, store_space
from hosting.ports import ClockClient, Clocks

HUB = "hub"
WRITES = ("append", "forget", "erase", "put")
NO_CLIENT: Any = None


class KilledError(BaseException):
    """The process is dead."""


class Fate:
    """Of one process: it dies before its write of that number, or behind it; others may have their turn before each."""

    def __init__(self, dies_at: int | None = None, *, behind: bool = False, turns: random.Random | None = None) -> None:
        self.writes = 0
        self._dies_at, self._behind, self._turns = dies_at, behind, turns

    async def call(self, name: str, call: Callable[..., Awaitable[Any]], *arguments: Any, **options: Any) -> Any:
        """Return what a call of a store returns, if the process lives."""
        for _ in range(0 if self._turns is None else self._turns.randrange(4)):
            await asyncio.sleep(0)
        self._live()
        self.writes += name in WRITES
        if not self._behind:
            self._live()
        answer = await call(*arguments, **options)
        self._live()
        return answer

    def _live(self) -> None:
        if self._dies_at is not None and self.writes >= self._dies_at:
            raise KilledError


class _Seen:
    """A store as a process sees it that has a fate."""

    def __init__(self, store: Any, fate: Fate) -> None:
        self._store, self._fate = store, fate

    def __getattr__(self, name: str) -> Any:
        member = getattr(self._store, name)
        if not asyncio.iscoroutinefunction(member):
            return member

        async def call(*arguments: Any, **options: Any) -> Any:
            return await self._fate.call(name, member, *arguments, **options)

        return call


class Follower:
    """Knows the files that are there."""

    def __init__(self) -> None:
        self.known: set[str] = set()

    async def stored(self, scope: Scope, file: UploadedFile, client: ClockClient) -> None:
        """Know it."""
        self.known.add(file.id)

    async def removed(self, scope: Scope, file: UploadedFile) -> int:
        """Forget it."""
        self.known.discard(file.id)
        return 1

    async def erased(self, scope: Scope) -> None:
        """There is nothing else."""


class Disk:
    """The stores of an app, whatever becomes of its processes."""

    def __init__(self) -> None:
        self.objects, self.threads = MemoryObjects(self._time), MemoryThreadStore(HUB)
        self.hours = 0.0
        self.follower = Follower()

    def _time(self) -> float:
        return 1.8e9 + self.hours * 3600

    def process(self, fate: Fate | None = None) -> Uploads:
        """Return the uploads of a new process."""
        fate = fate or Fate()
        objects, threads = _Seen(self.objects, fate), _Seen(self.threads, fate)
        log = ThreadLog(threads, objects, HUB, clocks=Clocks(self._time, self._time))
        stores = Stores(HUB, threads, Archive(MemoryObjects()), objects)
        uploads = Uploads(Cells(threads, log), stores, log, most_bytes=10**8, quota_bytes=10**9)
        uploads.follow(self.follower)
        self._stores, self._clocks = stores, log.clocks
        return uploads

    async def kept_up(self) -> Uploads:
        """Return the uploads of a new process after some upkeeps, by which all that was left is over."""
        for hours in (1, 25, 7):
            self.hours += hours
            uploads = self.process()
            await FilesUpkeep(uploads, self._stores, self._clocks).run(NO_CLIENT)
        return uploads

    async def broken(self, *scopes: Scope) -> list[str]:
        """Return the files that are listed and have not their bytes."""
        uploads, broken = self.process(), list[str]()
        for scope in scopes:
            for file in await uploads.files(scope):
                whole = b"".join([piece async for piece in uploads.parts(scope, file)])
                if (whole, file.bytes) != (content_of(file.name), len(whole)):
                    broken.append(f"{file.name} has {whole!r}")
        return broken

    async def faults(self, *scopes: Scope, others: Sequence[Scope] = ()) -> list[str]:
        """Return what is not as it must be: of files, sums, pieces and followers, of these scopes of one account.

        The follower knows files of `others` too.
        """
        uploads, account = self.process(), scopes[0].account
        files = [file for scope in scopes for file in await uploads.files(scope)]
        faults = await self.broken(*scopes)
        pieces = {f"{file.content}-{part.id}-000000" for file in files for part in file.parts}
        ledger = await uploads.ledgers.read(account)
        sums = (sum(file.bytes for file in files), len(files))
        if (ledger.bytes, ledger.files, dict(ledger.open)) != (*sums, {}):
            faults.append(f"the ledger has {ledger}, not {sums}")
        stored = set(await self.objects.names(account.contents(HUB)))
        if stored != pieces:
            faults.append(f"pieces {sorted(stored)}, not {sorted(pieces)}")
        more = [file for scope in others if scope not in scopes for file in await uploads.files(scope)]
        if self.follower.known != {file.id for file in (*files, *more)}:
            faults.append("the follower knows others")
        for _, key in await self.objects.put_between(store_space(HUB, "uploads-due"), 0, 1e12):
            faults.append(f"due: {list(await self.objects.names(StoreKey(store_space(HUB, 'uploads-due'), key)))}")
        shared = await Cells(self.threads, ThreadLog(self.threads, self.objects, HUB)).siblings(account.cell(CONTENTS))
        contents = [SharedContent.model_validate_json(payload) for payload in shared.values()]
        if sorted(id_ for content in contents for id_ in (*content.files, *content.barred)) != sorted(
            f.id for f in files
        ):
            faults.append(f"contents {contents}")
        return faults


def content_of(name: str) -> bytes:
    """Return the bytes of the file of that name: those of `a...` are all the same."""
    return (b"same" if name.startswith("a") else name.encode()) * 5


async def sent(content: bytes, size: int = 7) -> AsyncIterator[bytes]:
    """Yield the bytes of a body as they come."""
    for start in range(0, len(content), size):
        await asyncio.sleep(0)
        yield content[start : start + size]


async def stored(uploads: Uploads, scope: Scope, name: str) -> UploadedFile:
    """Store the file of that name."""
    content = content_of(name)
    return await uploads.store(scope, NewFile(name, "text/plain", len(content)), sent(content), NO_CLIENT)


async def stored_in_parts(uploads: Uploads, scope: Scope, name: str, *, gives_up: bool = False) -> None:
    """Store the file of that name in two parts, one of which came twice; or give it up behind them."""
    content = content_of(name)
    upload = await uploads.begin(scope, NewFile(name, "text/plain", len(content)))
    bodies = (content[5:], content[:5], content[:5])
    last, _, first = [await uploads.add_part(scope, upload.id, sent(body)) for body in bodies]
    if gives_up:
        await uploads.cancel(scope, upload.id)
    else:
        await uploads.complete(scope, upload.id, [first.id, last.id], None, NO_CLIENT)
