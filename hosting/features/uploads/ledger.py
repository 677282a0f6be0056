"""The sums of an account's files, and its quota.

An upload takes its bytes out of the quota before the first of them is stored, and gives back what it did not use. Each
change names its file, so it counts once however often it is made.
"""

from __future__ import annotations

from hosting.core.cells import Cells
from hosting.features.uploads.records import LEDGER, Account, Ledger
from hosting.features.uploads.refusals import FilesFullError
from hosting.names import new_id

MOST_OPEN = 200
"""So many uploads of an account may be open at once."""

MOST_CLOSING = 400
"""With so many files whose deletion is not over, an account gets no other."""

_NEWEST = 200
"""So many files are known as taken out of the sums."""


class Ledgers:
    """The ledgers of one app. Each method raises `LogUnavailableError`."""

    def __init__(self, cells: Cells, quota_bytes: int) -> None:
        self._cells = cells
        self.quota_bytes = quota_bytes

    async def read(self, account: Account) -> Ledger:
        """Return the sums."""
        return await self._cells.read(account.cell(LEDGER)) or Ledger()

    async def reserve(self, account: Account, file_id: str, size: int | None, most_bytes: int) -> int:
        """Take so many bytes out of the quota for a file, and return them: `most_bytes`, or the rest, for None.

        Raises `FilesFullError`.
        """
        reserved = 0

        def opened(ledger: Ledger | None) -> Ledger:
            nonlocal reserved
            sums = ledger or Ledger(id=new_id())
            if file_id in sums.open:
                reserved = sums.open[file_id]
                return sums
            if len(sums.open) >= MOST_OPEN or len(sums.closing) >= MOST_CLOSING:
                raise FilesFullError(
                    f"{len(sums.open)} uploads of this owner are open, and {MOST_OPEN} may be. Complete or cancel some "
                    f"of them. {len(sums.closing)} deletions are not over, and {MOST_CLOSING} may be."
                )
            left = self.quota_bytes - sums.bytes - sum(sums.open.values())
            reserved = min(most_bytes, max(0, left)) if size is None else size
            if reserved > left or (size is None and not reserved):
                needed = "more" if size is None else f"{size:,}"
                raise FilesFullError(
                    f"The files of this owner have {sums.bytes:,} bytes, open uploads {sum(sums.open.values()):,}, and "
                    f"they may have {self.quota_bytes:,} together. This file needs {needed}. Delete files that are "
                    "not needed."
                )
            return sums.model_copy(update={"open": {**sums.open, file_id: reserved}})

        await self._cells.change(account.cell(LEDGER), opened)
        return reserved

    async def admit(self, account: Account, file_id: str, size: int) -> None:
        """Take the bytes of a file that goes along with a conversation, also where they are more than the quota."""

        def opened(ledger: Ledger | None) -> Ledger:
            sums = ledger or Ledger(id=new_id())
            return sums.model_copy(update={"open": {**sums.open, file_id: size}})

        await self._cells.change(account.cell(LEDGER), opened)

    async def commit(self, account: Account, file_id: str, size: int) -> None:
        """Count a file that is stored now."""

        def counted(ledger: Ledger | None) -> Ledger | None:
            if ledger is None or file_id not in ledger.open:
                return ledger
            return ledger.model_copy(
                update={"open": _without(ledger, file_id), "bytes": ledger.bytes + size, "files": ledger.files + 1}
            )

        await self._cells.change(account.cell(LEDGER), counted)

    async def release(self, account: Account, ledger_id: str, file_id: str, size: int | None) -> None:
        """Give the bytes of a file back, before its cell goes: `size` of them if it was stored, None if it was not.

        The file's cell was there when the ledger had that id: another ledger never counted the file.
        """

        def released(ledger: Ledger | None) -> Ledger | None:
            if ledger is None or ledger.id != ledger_id or file_id in (*ledger.closing, *ledger.closed):
                return ledger
            if size is None and file_id not in ledger.open:
                return ledger
            changes: dict[str, object] = {"open": _without(ledger, file_id)}
            if size is not None:
                changes["closing"] = (*ledger.closing, file_id)
                if file_id not in ledger.open:
                    changes |= {"bytes": max(0, ledger.bytes - size), "files": max(0, ledger.files - 1)}
            return ledger.model_copy(update=changes)

        await self._cells.change(account.cell(LEDGER), released)

    async def forget(self, account: Account, file_id: str) -> None:
        """Forget a file whose cell is gone. The cell of an account without files goes too."""

        def forgotten(ledger: Ledger | None) -> Ledger | None:
            if ledger is None:
                return None
            changes: dict[str, object] = {"open": _without(ledger, file_id)}
            if file_id in ledger.closing:
                changes["closing"] = tuple(id_ for id_ in ledger.closing if id_ != file_id)
                changes["closed"] = (*ledger.closed, file_id)[-_NEWEST:]
            newer = ledger.model_copy(update=changes)
            return newer if newer.files or newer.open or newer.closing else None

        await self._cells.change(account.cell(LEDGER), forgotten)


def _without(ledger: Ledger, file_id: str) -> dict[str, int]:
    return {id_: size for id_, size in ledger.open.items() if id_ != file_id}
