"""Entries and attachments that are put beside a thread before it begins with them, so that it begins with all of them.

Theory. Nobody knows beforehand whether the thread will begin: a process may die, or another may begin one of the same
id with something else. So each attempt puts entries into a volume of its own, whose number it draws, and a mark among
the attachments, before all else. The thread's first event names the volume. What was put for nothing is found by its
mark: the sweep over uploads signals the thread, and its entity removes the volumes that its conversation does not name.
What is lent to the volume instead of being put there is named in the mark, so that those loans end with it.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterable, Sequence
from contextlib import suppress

from hosting.core.stores.archive import Lent, Loan, Volume
from hosting.core.stores.stores import Stores
from hosting.errors import StoreUnavailableError
from hosting.names import Address, StoreKey
from state.attachments import references
from state.codec import parse_entry
from state.contents import ATTACHMENT
from state.conversation import entries_in
from state.models import Entry, PlainEntry

_MARK = "copy-"
_AT_ONCE = 1000
"""Entries that are copied at a time, at most."""

FindSums = Callable[[int, int], Awaitable["str | None"]]
"""Returns the sums over the entries before one of the positions from the first to the last, the first that has them."""


class Copy:
    """One attempt to store a thread's first data: the entries into `volume`, their attachments beside it.

    The attachments are at the first of the `origins` that has them.
    """

    def __init__(self, stores: Stores, address: Address, volume: Volume, origins: Sequence[StoreKey]) -> None:
        self.volume = volume
        self._stores = stores
        self._address = address
        self._origins = origins
        self._lenders: list[Volume] = []
        self._brought: set[str] = set()

    async def mark(self) -> None:
        """Say that the attempt is under way, which counts for some hours from now.

        Raises `AttachmentsUnavailableError`, as all of this does.
        """
        lenders = [(one.thread.name, one.generation) for one in self._lenders]
        mark = {f"{_MARK}{self.volume.generation}": json.dumps(lenders).encode()}
        await self._stores.attachments.put(self.volume.thread, mark)

    async def borrow(self, lenders: Sequence[Lent]) -> None:
        """Have these entries lent to the volume; whether the loans hold says the log of each lender."""
        self._lenders = [lent.volume for lent in lenders]
        await self.mark()
        for lent in lenders:
            await self._stores.archive.lend(Loan(lent, self.volume, self._address))

    async def give_back(self) -> None:
        """End the loans, and store the entries instead."""
        await end_loans(self._stores, self.volume, self._lenders)
        self._lenders = []

    async def put(self, first: int, texts: Collection[str], sums: str | None) -> None:
        """Keep archived entries under their positions, with the `sums` over those before them.

        Raises `ArchiveUnavailableError` too.
        """
        await self.mark()
        await self._stores.archive.put(self.volume, first, list(texts), lambda count: None if count else sums)

    async def bring(self, entries: Iterable[Entry | PlainEntry]) -> None:
        """Store the attachments of these entries, as `bring_named` does."""
        await self.bring_named(frozenset().union(*map(references, entries)))

    async def bring_named(self, names: frozenset[str]) -> None:
        """Store these attachments, one after the other; those without an origin are left out."""
        for name in sorted(names - self._brought):
            for origin in self._origins:
                if found := await self._stores.attachments.read(origin, [name]):
                    await self._stores.attachments.put(self.volume.thread, found)
                    break
        self._brought |= names

    async def bring_of(self, texts: Iterable[str]) -> None:
        """Store the attachments of entries in JSON text; a text without the property's name has none."""
        await self.bring(parse_entry(text) for text in texts if ATTACHMENT in text or "\\u" in text)

    async def end(self, *, is_used: bool) -> None:
        """Take the mark away, and the volume first where no thread began with it; where this fails, the sweep does."""
        with suppress(StoreUnavailableError):
            if not is_used:
                await self._stores.archive.drop(self.volume)
                await self.give_back()
            await self._stores.attachments.erase(self.volume.thread, [f"{_MARK}{self.volume.generation}"])


async def blocks(through: int, sums: FindSums) -> AsyncIterator[tuple[int, int, str | None]]:
    """Iterate over the positions until that one, in blocks, each with its first and last one and the sums before it.

    A block begins where what is copied has sums, if they are there: then a fork of the copy finds some as near behind
    its end as in the thread that was copied.
    """
    first, before = 1, None
    while first <= through:
        last = min(through, first + _AT_ONCE - 1)
        found = await sums(first + _AT_ONCE // 2, last) if last < through else None
        if found is not None and first <= (counted := entries_in(found)) <= last:
            last = counted
        else:
            found = None
        yield first, last, before
        first, before = last + 1, found


def is_mark(name: str) -> bool:
    """Return whether that is the name of a mark, and not of an attachment."""
    return name.startswith(_MARK)


async def end_loans(stores: Stores, borrower: Volume, lenders: Iterable[Volume]) -> None:
    """End the loans of these to the volume, which no longer needs them."""
    for lender in lenders:
        await stores.archive.end_loan(lender, borrower)


async def drop_unused(stores: Stores, store_key: StoreKey, names: Iterable[str], used: int | None = None) -> None:
    """Remove the volumes of these marks, and end their loans, except those of the generation `used`."""
    of_marks = {name: int(name.removeprefix(_MARK)) for name in names if is_mark(name)}
    unused = {name: generation for name, generation in of_marks.items() if generation != used}
    for name, mark in (await stores.attachments.read(store_key, unused) if unused else {}).items():
        volume = Volume(store_key, unused[name])
        await stores.archive.drop(volume)
        lenders = [Volume(StoreKey(store_key.space, key), generation) for key, generation in json.loads(mark)]
        await end_loans(stores, volume, lenders)
