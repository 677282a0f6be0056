"""The older entries of conversations, over any store of objects, under their positions.

Entries are kept in segments, each the consecutive entries that one move brought. A segment is an object that its
generation and its first and last position name, so that putting it again after a crash replaces it. Where two overlap,
because what moved after a crash was cut elsewhere, both hold the same entries; only after a backup was restored do they
not, and then the newer one stands. Bounds keep a segment within one call and one item of every store, and the thousand
that its first position is in stands in its name, so that a reader lists two thousands, however long the thread is. A
line behind a segment's entries may say what all entries before it sum up to: that is found at any position as fast.

A volume may lend its entries to a thread that begins with them. A loan is an object next to its segments, so a list of
them shows it: `erase` has each loan ended first, by a caller that gives the borrower entries of its own.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence

from msgspec import Struct
from msgspec.structs import astuple

from hosting.errors import ArchiveIncompleteError
from hosting.names import Address, StoreKey
from hosting.ports import ObjectStore
from state.json_values import dump, parse

MOST_ENTRIES = 1000
MOST_BYTES = 1_000_000
"""A segment of several entries stays below it; one entry may be larger alone."""


class Volume(Struct, frozen=True):
    """One conversation of a thread, from one reset to the next; each reset raises the `generation`."""

    thread: StoreKey
    generation: int


class Lent(Struct, frozen=True):
    """Entries of another thread's volume, up to position `through`, that are read as own entries."""

    volume: Volume
    through: int


class Loan(Struct, frozen=True):
    """A record that the volume `borrower`, of the thread of that address, reads `lent` entries instead of copies."""

    lent: Lent
    borrower: Volume
    address: Address

    @property
    def name(self) -> str:
        """The name of the loan's object, which lies with the lender."""
        return _loan_name(self.lent.volume, self.borrower)


SumsOf = Callable[[int], "str | None"]
"""Returns one line about all entries before a segment, given how many of those that are put come before it."""

EndLoans = Callable[[Sequence[Loan]], Awaitable[None]]
"""Ends loans: once it returns, each borrower that is alive has entries of its own."""


async def no_loans(loans: Sequence[Loan]) -> None:
    """End none; raises `ValueError` for loans, because their entries must not be lost."""
    if loans:
        raise ValueError(f"{len(loans)} forks refer to entries that will be erased.")


class Archive:
    """The archived entries of an app's conversations; positions count from 1 in each volume.

    The document counts how many entries of its volume are archived; entries behind that position were left by a process
    that died, and are never read. Each method raises `errors.ArchiveUnavailableError` when the store cannot be reached;
    calling again with the same arguments is safe.
    """

    def __init__(self, objects: ObjectStore) -> None:
        self._objects = objects

    async def put(self, volume: Volume, first: int, entries: Sequence[str], sums: SumsOf | None = None) -> None:
        """Store entries, each as JSON text, under the positions from `first` on, replacing existing ones.

        With what the `sums` say of each segment. Once this returns they are kept, whatever happens to this process.
        """
        objects: dict[str, bytes] = {}
        position = first
        for lines in _cut(entries):
            segment = _Segment(volume.generation, position, position + len(lines) - 1)
            line = None if sums is None else sums(position - first)
            objects[segment.name] = "\n".join(lines if line is None else [*lines, line]).encode(errors="surrogatepass")
            position = segment.last + 1
        await self._objects.put(volume.thread, objects)

    async def read(self, volume: Volume, first: int, last: int, lenders: Sequence[Lent] = ()) -> list[str]:
        """Return the entries from position `first` to `last`, as the JSON values that were put.

        What the volume does not have is read from its lenders. Raises `errors.ArchiveIncompleteError` when one of them
        is not there.
        """
        entries = await self.present(volume, first, last)
        if lenders and len(entries) <= last - first:
            for lent in lenders:
                entries = {**await self.present(lent.volume, first, min(last, lent.through)), **entries}
            if len(entries) <= last - first:  # a lender has ended the loan since: first the volume had its own
                entries |= await self.present(volume, first, last)
        missing = next((position for position in range(first, last + 1) if position not in entries), None)
        if missing is not None:
            raise ArchiveIncompleteError(
                f"The archive lacks entry {missing} of this conversation: it is being reset or deleted, or the archive "
                "has lost it."
            )
        return [entries[position] for position in range(first, last + 1)]

    async def present(self, volume: Volume, first: int, last: int) -> dict[int, str]:
        """Return those of the entries from position `first` to `last` that the volume itself has."""
        segments = await self._covering(volume, first, last)
        bodies = await self._objects.read(volume.thread, [segment.name for segment in segments])
        entries: dict[int, str] = {}
        for segment in segments:
            if segment.name in bodies:
                entries.update(enumerate(segment.lines(bodies[segment.name])[: segment.count], start=segment.first))
        return {position: text for position, text in entries.items() if first <= position <= last}

    async def sums(self, volume: Volume, first: int, last: int, lenders: Sequence[Lent] = ()) -> str | None:
        """Return the line about all entries before the first segment that begins within these positions and has one.

        None where no segment that begins there has a line, of the volume or of its lenders.
        """
        for lent in (Lent(volume, last), *lenders):
            begins: dict[int, _Segment] = {}
            for segment in await self._covering(lent.volume, first, min(last, lent.through)):
                begins = {begin: older for begin, older in begins.items() if not segment.first <= begin <= segment.last}
                begins[segment.first] = segment
            for begin in sorted(begins):
                bodies = await self._objects.read(lent.volume.thread, [begins[begin].name]) if begin >= first else {}
                for body in bodies.values():
                    if lines := begins[begin].lines(body)[begins[begin].count :]:
                        return lines[0]
        return None

    async def _covering(self, volume: Volume, first: int, last: int) -> list[_Segment]:
        """Return the segments with entries of these positions, in the order in which they were put."""
        thousands = range(max(0, first - MOST_ENTRIES + 1) // MOST_ENTRIES, last // MOST_ENTRIES + 1)
        prefixes = (_thousand(volume.generation, number) for number in thousands)
        listed = await asyncio.gather(*(self._objects.names(volume.thread, prefix) for prefix in prefixes))
        put_at = {name: moment for names in listed for name, moment in names.items()}
        in_order_of_put = map(_Segment.parse, sorted(put_at, key=put_at.__getitem__))
        return [segment for segment in in_order_of_put if segment.first <= last and segment.last >= first]

    async def lend(self, loan: Loan) -> None:
        """Keep that the loan is made. It holds only if the lender was not asked to erase before this returned."""
        value = [loan.lent.through, *astuple(loan.borrower.thread), loan.borrower.generation, *astuple(loan.address)]
        await self._objects.put(loan.lent.volume.thread, {loan.name: json.dumps(value).encode()})

    async def is_lent(self, lender: Volume, borrower: Volume) -> bool:
        """Return whether that loan stands."""
        name = _loan_name(lender, borrower)
        return name in await self._objects.names(lender.thread, name)

    async def end_loan(self, lender: Volume, borrower: Volume) -> None:
        """Forget that loan, if it is there."""
        await self._objects.erase(lender.thread, [_loan_name(lender, borrower)])

    async def epochs(self, thread: StoreKey) -> list[int]:
        """Return which of the thread's epochs have volumes, lowest first."""
        return await self._objects.epochs(thread)

    async def erase(self, store_key: StoreKey, before: int | None = None, end_loans: EndLoans = no_loans) -> int:
        """Remove the thread's volumes, or only the generations below `before`, and return how many entries that were.

        No file of the store has the entries afterwards. First `end_loans` gets their loans.
        """
        names = await self._objects.names(store_key)
        all_loans = await self._loans(store_key, names)
        loans = [loan for loan in all_loans if _is_before(loan.lent.volume.generation, before)]
        await end_loans(loans)
        all_segments = map(_Segment.parse, (name for name in names if not name.startswith(_LOAN)))
        segments = [segment for segment in all_segments if _is_before(segment.generation, before)]
        erased = None if before is None else [*(segment.name for segment in segments), *(loan.name for loan in loans)]
        await self._objects.erase(store_key, erased)
        return sum(segment.count for segment in segments)

    async def _loans(self, store_key: StoreKey, names: Iterable[str]) -> list[Loan]:
        """Return the loans that those of these objects are which lie with a thread."""
        loan_names = [name for name in names if name.startswith(_LOAN)]
        loans = []
        for name, body in (await self._objects.read(store_key, loan_names) if loan_names else {}).items():
            through, space, thread, generation, *address = json.loads(body)
            lent = Lent(Volume(store_key, int(name.split("-")[1])), through)
            loans.append(Loan(lent, Volume(StoreKey(space, thread), generation), Address(*address)))
        return loans

    async def drop(self, volume: Volume) -> None:
        """Remove one volume; no file of the store has its content afterwards."""
        await self._objects.erase(volume.thread, await self._objects.names(volume.thread, f"{volume.generation}-"))

    async def close(self) -> None:
        """Let go of files, connections and threads."""
        await self._objects.close()


class _Segment(Struct, frozen=True):
    """Consecutive entries in one object, by the positions of the first and the last. The object's name holds all that.

    The object holds them as JSON lines, and one more where there is one about the entries before them.
    """

    generation: int
    first: int
    last: int

    @classmethod
    def parse(cls, name: str) -> _Segment:
        generation, _, first, last = map(int, name.split("-"))
        return cls(generation, first, last)

    @property
    def count(self) -> int:
        return self.last - self.first + 1

    @staticmethod
    def lines(body: bytes) -> list[str]:
        return body.decode(errors="surrogatepass").split("\n")

    @property
    def name(self) -> str:
        return f"{_thousand(self.generation, self.first // MOST_ENTRIES)}{self.first:09}-{self.last:09}"


_LOAN = "loan-"
"""The prefix of the names of loans; names of segments begin with a digit."""


def _loan_name(lender: Volume, borrower: Volume) -> str:
    borrowed_by = f"{borrower.thread.space}/{borrower.thread.name}/{borrower.generation}"
    return f"{_LOAN}{lender.generation}-{hashlib.sha256(borrowed_by.encode()).hexdigest()[:32]}"


def _is_before(generation: int, before: int | None) -> bool:
    return before is None or generation < before


def _thousand(generation: int, number: int) -> str:
    return f"{generation}-{number:06}-"


def _cut(entries: Iterable[str]) -> Iterator[list[str]]:
    """Iterate over the entries of each segment, each entry as one line."""
    lines: list[str] = []
    size = 0
    for entry in entries:
        # Texts of other writers may be laid out in lines; the JSON value is the same.
        line = dump(parse(entry)) if "\n" in entry else entry
        bytes_more = len(line.encode(errors="surrogatepass"))
        if lines and (len(lines) == MOST_ENTRIES or size + bytes_more > MOST_BYTES):
            yield lines
            lines, size = [], 0
        lines.append(line)
        size += bytes_more
    if lines:
        yield lines
