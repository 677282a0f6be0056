"""What the app's own search engine was handed of each thread: recorded before, so that all of it can be taken back.

Theory. A cell for each thread says up to which position the engine may have its texts, and up to which it surely has
them. The first is written before texts are handed over and the second behind them, each only if the cell is still the
very one that was read. A thread without a cell gets one before the thread is read, as in `index`: so whoever forgets a
thread finds the cell, or its reader finds the thread gone.

The engine knows nothing of the log. So a process that hands texts over says in the cell until when it may do so, and
no other does so until then. Whoever forgets the thread marks the cell as owed. Nothing is handed over from then on, and
the cell stays until the engine has removed everything, and until the last process that might still hand texts over has
had its time.

What is owed is known in two places, and the first is written first: a list of all of it, which upkeep pays twice a day,
and the cell. The process that recorded it tries at once and again after growing pauses. So an engine that is away keeps
no thread from being deleted, and forgets it when it is back.
"""

from __future__ import annotations

import asyncio
import json
import logging
import math
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import astuple, replace

from hosting.core.cells import Cell, CellKind, Cells
from hosting.core.stores.contract import Append, Appended, StoredHead
from hosting.core.stores.stores import Stores
from hosting.core.thread_log import ThreadLog
from hosting.errors import SearchUnavailableError, StoreUnavailableError
from hosting.features.search.engine import SearchEngine, ThreadPlace, ThreadText
from hosting.features.search.thread_words import Extent
from hosting.names import Address, StoreKey, new_id, store_space

logger = logging.getLogger(__name__)

ENGINE_SECONDS = 10.0
"""A call of the engine is given so long."""
_LATE_SECONDS = 10.0
"""After so much more no text of a call comes to the engine any more."""
_HASTE_SECONDS = 5.0
"""Whoever deletes a thread waits for the engine no longer than this."""
PAUSES = (5.0, 30.0, 120.0, 600.0)
_DEBT = "address"


class Handed(Struct, frozen=True):
    """What the engine has of a thread: surely up to `extent`, and perhaps texts at positions 0 to `through`.

    A process may hand more over `until` that time, in seconds since 1970. What is `owed` is to be removed. `title` is
    the one that the engine has.
    """

    extent: Extent = Extent()
    through: int = -1
    until: float = 0.0
    owed: bool = False
    title: str = ""


NOTHING = Handed()
_KIND: CellKind[Handed] = CellKind(
    "indexed",
    "thread",
    lambda stored: NOTHING if stored is None else msgspec.msgpack.decode(stored, type=Handed),
    msgspec.msgpack.encode,
)


def handed_cell(address: Address) -> Cell[Handed]:
    """Return the cell with what the engine was handed of a thread."""
    return Cell(_KIND, address.agent, address.owner, address.thread_id)


class Kept(Struct, frozen=True):
    """The value of a cell, and the head that it was read with."""

    head: StoredHead
    handed: Handed


class OvertakenError(Exception):
    """Another process has changed what is kept of the thread since it was read."""


class HandedTexts:
    """The texts of an app's threads that its engine has; `engine` is None where it has none now.

    Each method raises `LogUnavailableError` and `AttachmentsUnavailableError`.
    """

    def __init__(
        self,
        engine: SearchEngine | None,
        cells: Cells,
        log: ThreadLog,
        stores: Stores,
        *,
        pauses: tuple[float, ...] = PAUSES,
    ) -> None:
        """What is owed is tried again after these pauses, in seconds, and from then on after the last one."""
        self._engine, self._cells, self._clock, self._stores = engine, cells, log.clocks.wall, stores
        self._pauses = pauses
        self._owed = dict[Address, None]()
        self._payer: asyncio.Task[None] | None = None
        self._away_until = 0.0

    async def read(self, address: Address) -> Kept | None:
        """Return what the engine was handed of the thread; None where it never was anything."""
        head = await self._cells.head(handed_cell(address))
        return None if head is None else Kept(head, _KIND.decode(head.payload))

    async def begun(self, address: Address) -> Kept:
        """Return the same, after a cell was begun where there was none."""
        while (kept := await self.read(address)) is None:
            with suppress(OvertakenError):
                return await self._write(address, None, NOTHING)
        return kept

    async def change(self, address: Address, kept: Kept, handed: Handed) -> Kept:
        """Write another value in place of the one that was read. Raises `OvertakenError`."""
        return await self._write(address, kept.head, handed)

    def is_taken(self, handed: Handed) -> bool:
        """Return whether a process may hand texts of the thread over now."""
        return self._clock() < handed.until

    def taken_until(self) -> float:
        """Return until when a call of the engine that begins now may have an effect."""
        return self._clock() + ENGINE_SECONDS + _LATE_SECONDS

    async def put(self, texts: list[ThreadText]) -> None:
        """Hand texts over. Raises `SearchUnavailableError`."""
        assert self._engine is not None
        engine = self._engine
        await called("put", lambda: engine.put(texts))

    async def remove(self, address: Address, through: int, seconds: float = ENGINE_SECONDS) -> None:
        """Have the texts at positions 0 to `through` removed. Raises `SearchUnavailableError`."""
        if self._engine is None:
            raise SearchUnavailableError()
        engine = self._engine
        await called("remove", lambda: engine.remove(place_of(address), through), seconds)

    async def forget(self, address: Address) -> bool:
        """Have the engine forget the thread's texts; return whether it has. If not, that is owed, and tried again."""
        kept = await self.read(address)
        if kept is None:
            return True
        await self._stores.attachments.put(self._debt(address), {_DEBT: json.dumps(astuple(address)).encode()})
        while kept is not None and not kept.handed.owed:
            with suppress(OvertakenError):
                await self.change(address, kept, replace(kept.handed, owed=True))
            kept = await self.read(address)
        is_paid = self._clock() >= self._away_until and await self.pay(address, _HASTE_SECONDS)
        if not is_paid and self._engine is not None:
            self._owed[address] = None
            if self._payer is None or self._payer.done():
                self._payer = asyncio.create_task(self._pay_later())
        return is_paid

    async def pay(self, address: Address, seconds: float = ENGINE_SECONDS) -> bool:
        """Have the engine remove what is owed of a thread; return whether nothing is owed any more."""
        while (kept := await self.read(address)) is not None and kept.handed.owed:
            try:
                if kept.handed.through >= 0:
                    await self.remove(address, kept.handed.through, seconds)
            except SearchUnavailableError:
                self._away_until = self._clock() + self._pauses[0]
                logger.warning(
                    "The search engine has not removed thread %s of agent %s, which was deleted or reset. This is "
                    "tried again.",
                    address.thread_id,
                    address.agent,
                )
                return False
            if self.is_taken(kept.handed):
                return False  # what was handed over before may still come
            await self._stores.attachments.erase(self._debt(address))
            if await self._cells.store.forget(handed_cell(address).address, kept.head):
                await self._cells.store.scrub()
                return True
        await self._stores.attachments.erase(self._debt(address))
        return True

    async def debts(self) -> list[Address]:
        """Return the threads of which the engine has still to remove texts, the oldest debt first."""
        space, debts = store_space(self._stores.hub, "unsearched"), list[Address]()
        for _, name in await self._stores.attachments.put_between(space, 0.0, math.inf):
            stored = await self._stores.attachments.read(StoreKey(space, name), [_DEBT])
            debts += [Address(*json.loads(text)) for text in stored.values()]
        return debts

    async def forget_all(self, agent: str, owner: str) -> bool:
        """Have all texts of an owner's threads with an agent forgotten; return whether the engine has. Not for `app`.

        Raises nothing where the app has no engine now: what one had before stays owed.
        """
        names = await self._cells.siblings(Cell(_KIND, agent, owner))
        forgotten = [await self.forget(Address.of(agent, name, owner)) for name in names]
        return all(forgotten) or self._engine is None

    async def close(self) -> None:
        """End the tries that go on: what is owed stays recorded."""
        if self._payer is not None:
            self._payer.cancel()
            await asyncio.gather(self._payer, return_exceptions=True)

    async def _pay_later(self) -> None:
        """Try all that this process owes again, until nothing is left; of an engine that is away only the first."""
        tries = 0
        while self._owed:
            await asyncio.sleep(self._pauses[min(tries, len(self._pauses) - 1)])
            tries += 1
            for address in list(self._owed):
                try:
                    if await self.pay(address):
                        del self._owed[address]
                except StoreUnavailableError as error:
                    logger.warning("What the search engine has to remove cannot be read (%s).", error.code)
                if self._clock() < self._away_until:
                    break

    async def _write(self, address: Address, head: StoredHead | None, handed: Handed) -> Kept:
        payload = _KIND.encode(handed)
        assert payload is not None
        outcome = await self._cells.append(handed_cell(address), head, Append(StoredHead(0, new_id(), payload)))
        if not isinstance(outcome, Appended):
            raise OvertakenError
        return Kept(outcome.head, handed)

    def _debt(self, address: Address) -> StoreKey:
        return StoreKey(store_space(self._stores.hub, "unsearched"), address.key)


class Debts:
    """Has the engine remove what it still owes."""

    def __init__(self, texts: HandedTexts) -> None:
        self._texts = texts

    async def run(self, client: Any) -> None:
        """Do it once, for each thread. Raises `LogUnavailableError` and `AttachmentsUnavailableError`."""
        for address in await self._texts.debts():
            await self._texts.forget(address)


def place_of(address: Address) -> ThreadPlace:
    """Return the thread as an engine knows it."""
    return ThreadPlace(address.owner, address.agent, address.thread_id)


async def called(method: str, call: Callable[[], Awaitable[Any]], seconds: float = ENGINE_SECONDS) -> Any:
    """Return the result of a call of the engine; raises `SearchUnavailableError` for whatever it raises."""
    try:
        return await asyncio.wait_for(call(), seconds)
    except Exception as error:  # the engine is the app's, and may raise anything
        logger.warning("The search engine failed at %s (%s).", method, type(error).__name__)
        raise SearchUnavailableError() from None
