"""Cells: values that many processes change, each of which is a log with a head and no events.

Theory. A change reads a cell's value, decides, and appends the newer value to the very head that was read. If another
change came first, it is decided again on the value after that. Each time one of them wins, so no number of tries ends a
change: only a store that gives no answer within the log's patience does. Changes of one process take turns, because
each would cost the others a call of the store.

An append with an unknown outcome is repeated. If others came after it, the store takes it for a lost append, although
it counts. So a change leaves a value that has it already as it is: a fact is known by its id, and a count too.

A cell has its value in one place, so what a change takes out of it is gone, once the store has left it in none of its
files: a caller that takes something out calls `ThreadStore.scrub` then.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import nullcontext
from functools import cached_property, partial
from typing import Generic, TypeVar

from msgspec import Struct
from pydantic import BaseModel, ConfigDict

from hosting.core.recent import Recent
from hosting.core.stores.contract import Append, Appended, Conflict, StoredHead, ThreadStore
from hosting.core.thread_log import ThreadLog
from hosting.core.turns import Turns
from hosting.names import Address, new_id

_REMEMBERED_BYTES = 1024 * 1024
_OVERHEAD_BYTES = 512
_PAGE = 200
_NEWEST = 32
"""So many may be counted by others while an append with an unknown outcome is repeated."""


class Counted(BaseModel):
    """A value that counts, with the newest `counted` ids. What a newer version added to it stays."""

    model_config = ConfigDict(frozen=True, extra="allow")

    counted: tuple[str, ...] = ()


T = TypeVar("T")
ModelT = TypeVar("ModelT", bound=BaseModel)
CountedT = TypeVar("CountedT", bound=Counted)


class CellKind(Struct, Generic[T], frozen=True):
    """Cells of one kind: the names in their addresses, and their values as they are stored.

    With a `key` there is one cell for each agent and owner. `decode` gets None for a cell that is not there, and a cell
    goes where `encode` returns None. A change of a `remembered` cell begins with the value that the process remembers.
    """

    name: str
    key: str
    decode: Callable[[bytes | None], T]
    encode: Callable[[T], bytes | None]
    remembered: bool = False
    takes_turns: bool = True

    @classmethod
    def of_model(cls, name: str, key: str, model: type[ModelT], *, remembered: bool = False) -> CellKind[ModelT]:
        """Return the kind of cells with values of a model: a new value where there is no cell."""
        return CellKind(
            name,
            key,
            lambda payload: model() if payload is None else model.model_validate_json(payload),
            lambda value: value.model_dump_json().encode(),
            remembered,
        )


class Cell(Struct, Generic[T], frozen=True, dict=True):
    """A cell of an agent and an owner, by its name."""

    kind: CellKind[T]
    agent: str
    owner: str
    key: str = ""

    @cached_property
    def address(self) -> Address:
        """The address of its log: no agent's name has a dot, so it is among no agent's threads."""
        return Address.of(f"{self.agent}.{self.kind.name}", self.key or self.kind.key, self.owner)


class Cells:
    """The cells of one store, for one event loop.

    Each method raises `LogUnavailableError`, and what the `decode` and `encode` of a kind raise.
    """

    def __init__(self, store: ThreadStore, log: ThreadLog) -> None:
        self.store = store
        self._log = log
        self._turns = Turns()
        self._remembered: Recent[Address, StoredHead] = Recent(_REMEMBERED_BYTES)

    def remembered(self, cell: Cell[T]) -> T:
        """Return the value as this process remembers it, which may be older than the store's."""
        return _value(cell, self._remembered.get(cell.address))

    async def read(self, cell: Cell[T]) -> T:
        """Return the value as the store has it."""
        return _value(cell, await self.head(cell))

    async def head(self, cell: Cell[T]) -> StoredHead | None:
        """Return the head as the store has it."""
        address = cell.address
        self._remembered.forget(address)
        stored = await self._log.retried("read", cell.agent, lambda: self.store.head(address))
        self._remember(cell, stored)
        return stored

    async def append(self, cell: Cell[T], head: StoredHead | None, append: Append) -> Appended | Conflict:
        """Append to the known head, until the store says what came of it."""
        address = cell.address
        self._remembered.forget(address)  # whatever ends this call early leaves nothing that may be wrong
        outcome: Appended | Conflict = await self._log.retried(
            "append", cell.agent, lambda: self.store.append(address, head, append)
        )
        self._remember(cell, outcome.head)
        return outcome

    async def siblings(self, cell: Cell[T]) -> dict[str, bytes]:
        """Return the payloads of all cells of the kind, agent and owner of this one, by their keys, in that order.

        Not for the owner `app`, as `ThreadStore.heads` says.
        """
        agent, after, payloads = cell.address.agent, "", dict[str, bytes]()
        while True:
            page = await self._log.retried(
                "read", cell.agent, partial(self.store.heads, agent, cell.owner, after, _PAGE)
            )
            payloads |= {key: head.payload for key, head in page}
            if len(page) < _PAGE:
                return payloads
            after = page[-1][0]

    async def change(self, cell: Cell[T], changed: Callable[[T], T], *, is_new: bool = False) -> T:
        """Return the value after a change: the very object that `changed` returned, or an equal value that was there.

        `changed` is called again for each value that others left first. A cell that `is_new` is not read before.
        """

        async def at_once(value: T) -> T:
            return changed(value)

        return await self.change_awaited(cell, at_once, is_new=is_new)

    async def change_awaited(self, cell: Cell[T], changed: Callable[[T], Awaitable[T]], *, is_new: bool = False) -> T:
        """Return the value after a change that takes time, as `change` does."""
        async with self._turns.turn(cell.address) if cell.kind.takes_turns else nullcontext():
            head = None if is_new else self._remembered.get(cell.address) or await self.head(cell)
            while (newer := await changed(value := _value(cell, head))) != value:
                payload = cell.kind.encode(newer)
                if payload is not None:
                    append = Append(StoredHead(0 if head is None else head.position, new_id(), payload))
                    outcome = await self.append(cell, head, append)
                    if isinstance(outcome, Appended):
                        return newer
                    head = outcome.head
                elif head is None or await self.store.forget(cell.address, head):
                    return newer
                else:
                    head = await self.head(cell)
            return value

    async def count(self, cell: Cell[CountedT], counted: Callable[[CountedT], CountedT]) -> CountedT:
        """Return the value after a change that adds to it, once."""
        id_ = new_id()

        def once(value: CountedT) -> CountedT:
            if id_ in value.counted:
                return value
            return counted(value).model_copy(update={"counted": (*value.counted, id_)[-_NEWEST:]})

        return await self.change(cell, once)

    async def remove(self, cell: Cell[T]) -> None:
        """Remove a cell with all that it holds."""
        async with self._turns.turn(cell.address):
            while (head := await self.head(cell)) is not None:
                if head.position:
                    await self.store.erase(cell.address, head.position)
                await self.store.forget(cell.address, head)
            await self.store.scrub()  # a call before this one may have removed it, and was broken off

    def _remember(self, cell: Cell[T], stored: StoredHead | None) -> None:
        if cell.kind.remembered and stored is not None:
            self._remembered.keep(cell.address, stored, len(stored.payload) + _OVERHEAD_BYTES)


def _value(cell: Cell[T], stored: StoredHead | None) -> T:
    return cell.kind.decode(None if stored is None else stored.payload)
