"""The entries that a thread has lent to its forks, before it loses them.

Theory. A fork refers to what is archived of its origin, so that it costs the same whatever the length. Yet each thread
is deleted by itself: whoever erases an archive, for a deletion or a reset, first gives each fork that has borrowed of
it copies of its own, and the attachments that they refer to. Each loan ends when its copies are there, so a process
that dies is continued where it was, and to copy twice is as good as once.

A loan is made before the fork's first event, and counts if the origin's log says after that that nothing of it goes:
what is erased later finds the loan. So a fork that has not begun yet is given copies too, under a mark by which the
sweep over uploads finds them if it never begins. One that was deleted or reset is given none; where that happens at the
same time, they are removed again.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Literal

from hosting.core.archiving import lent_to
from hosting.core.copies import Copy, blocks, end_loans
from hosting.core.stores.archive import Loan, Volume
from hosting.core.stores.stores import Stores
from hosting.core.thread.head import Head
from hosting.core.thread.sources import fork_source
from hosting.core.thread_log import ThreadLog, epoch_store_key
from hosting.names import Address, StoreKey
from state.extension import Lender, host_of
from state.models import Conversation

Borrower = Literal["alive", "to begin", "gone"]


class Lending:
    """Ends the loans of one app's threads."""

    def __init__(self, log: ThreadLog, stores: Stores) -> None:
        self._log = log
        self._stores = stores

    async def end(self, loans: Sequence[Loan]) -> None:
        """Give each borrower that is not gone entries of its own, and end the loans.

        Raises `LogUnavailableError`, `ArchiveUnavailableError` and `AttachmentsUnavailableError`: what was done
        stays so.
        """
        for loan in loans:
            if await self._state(loan) != "gone":
                await self._hand_over(loan)
            await self._stores.archive.end_loan(loan.lent.volume, loan.borrower)

    async def holds(self, lender: Lender, borrower: Address) -> bool:
        """Return whether a loan that stands holds: the thread has lost nothing since. It is of the same owner."""
        address = Address.of(borrower.agent, lender.thread_id, borrower.owner)
        head = await self._log.head(address)
        lives = epoch_store_key(self._stores.hub, address, head.epoch).name == lender.key
        return head.state == "open" and lives and head.reset_at == lender.reset_at

    async def give_back(self, store_key: StoreKey, conversation: Conversation) -> None:
        """End the loans to a conversation that is deleted."""
        borrower = Volume(store_key, host_of(conversation).generation)
        await end_loans(self._stores, borrower, [one.volume for one in lent_to(store_key, conversation)])

    async def _hand_over(self, loan: Loan) -> None:
        copy = Copy(self._stores, loan.address, loan.borrower, [loan.lent.volume.thread])
        archive, volume = self._stores.archive, loan.lent.volume
        async for first, last, sums in blocks(loan.lent.through, partial(archive.sums, volume)):
            for begins, texts in _runs(await archive.present(volume, first, last)):
                await copy.bring_of(texts)
                await copy.put(begins, texts, sums if begins == first else None)
        state = await self._state(loan)
        if state != "to begin":  # the mark stays for that one: whoever begins it takes it away, or the sweep does
            await copy.end(is_used=state == "alive")

    async def _state(self, loan: Loan) -> Borrower:
        head = await self._log.head(loan.address)
        of_head = epoch_store_key(self._stores.hub, loan.address, head.epoch).name
        if _epoch(of_head) < _epoch(loan.borrower.thread.name) or not head.position:
            return "to begin"
        is_same = of_head == loan.borrower.thread.name and _is_as_begun(head, loan.borrower.generation)
        return "alive" if is_same else "gone"


def _is_as_begun(head: Head, generation: int) -> bool:
    source = fork_source(head)
    was_reset = head.imported is not None and head.reset_at > head.imported.position
    return head.state == "open" and source is not None and source.generation == generation and not was_reset


def _epoch(name: str) -> int:
    return int(name.rpartition("/")[2])


def _runs(found: dict[int, str]) -> list[tuple[int, list[str]]]:
    """Return the entries as lists of consecutive ones, each with its first position."""
    runs: list[tuple[int, list[str]]] = []
    for position in sorted(found):
        if not runs or position != runs[-1][0] + len(runs[-1][1]):
            runs.append((position, []))
        runs[-1][1].append(found[position])
    return runs
