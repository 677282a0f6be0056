"""Something that is counted for each owner of an agent at one place for all processes: logs of a head alone.

Theory. Runs of one owner lie on many threads, and no append holds two logs. So what is counted over all of them has a
log of its own, which is a head and nothing else. Whoever counts gives a change of the newest head, which is made again
on a newer one until it stands or there is nothing left to change.

An append whose outcome was unknown may turn out to be behind others: a head says by the newest ids what it has.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from pydantic import BaseModel, ConfigDict

from hosting.names import Address, new_id
from hosting.runner.recent import Recent
from hosting.runner.thread_log import ThreadLog
from hosting.runner.turns import Turns
from hosting.stores.contract import Append, Appended, Conflict, StoredHead, ThreadStore

_NEWEST = 32
"""So many may be counted by others while an append with an unknown outcome is repeated."""
_CACHED_BYTES = 1024 * 1024
_OVERHEAD_BYTES = 512


class OwnerHead(BaseModel):
    """A head, with the newest `counted` ids. An owner without a stored head has a new one.

    What a newer version added to it stays.
    """

    model_config = ConfigDict(frozen=True, extra="allow")

    counted: tuple[str, ...] = ()

    def counting(self, counted: str) -> tuple[str, ...]:
        """Return the ids with another one."""
        return (*self.counted, counted)[-_NEWEST:]


HeadT = TypeVar("HeadT", bound=OwnerHead)


class OwnerHeads(Generic[HeadT]):
    """The heads of one `kind` of all owners of an agent, for one event loop, in the store of the threads' logs.

    `kind` is "log" and "key", such as budget and day. `read` and `change` raise `LogUnavailableError` where the store
    stays away.
    """

    def __init__(
        self, kind: tuple[str, str], agent: str, head: type[HeadT], log: ThreadLog, store: ThreadStore
    ) -> None:
        self._kind = kind
        self._agent = agent
        self._head = head
        self._log = log
        self._store = store
        self._heads: Recent[str, StoredHead] = Recent(_CACHED_BYTES)
        self._turns = Turns()

    def known(self, owner: str) -> HeadT:
        """Return the owner's head as this process knows it, which may be older than the store's: a new one at first."""
        return self._decoded(self._heads.get(owner))

    async def read(self, owner: str) -> HeadT:
        """Return the owner's head as the store has it."""
        return self._decoded(await self._read(owner))

    async def change(self, owner: str, changed: Callable[[HeadT], HeadT | None]) -> HeadT:
        """Append the result of `changed` for the head until it changes nothing, and return that head.

        The first head that it is given is the one that this process knows, which may be older than the store's.
        """
        async with self._turns.turn(self._address(owner)):
            known = self._heads.get(owner) or await self._read(owner)
            while (newer := changed(head := self._decoded(known))) is not None:
                payload = newer.model_dump_json().encode()
                append = Append(StoredHead(0 if known is None else known.position, new_id(), payload))
                known = await self._append(owner, known, append)
            return head

    def _decoded(self, stored: StoredHead | None) -> HeadT:
        return self._head() if stored is None else self._head.model_validate_json(stored.payload)

    async def _read(self, owner: str) -> StoredHead | None:
        self._heads.forget(owner)
        stored = await self._log.retried("read", self._agent, lambda: self._store.head(self._address(owner)))
        self._keep(owner, stored)
        return stored

    async def _append(self, owner: str, known: StoredHead | None, append: Append) -> StoredHead | None:
        """Return the head as it stands afterwards, whether this append is in it or not."""
        self._heads.forget(owner)  # whatever ends this call early leaves nothing that may be wrong
        address = self._address(owner)
        answer: Appended | Conflict = await self._log.retried(
            "append", self._agent, lambda: self._store.append(address, known, append)
        )
        self._keep(owner, answer.head)
        return answer.head

    def _keep(self, owner: str, stored: StoredHead | None) -> None:
        if stored is not None:
            self._heads.keep(owner, stored, len(stored.payload) + _OVERHEAD_BYTES)

    def _address(self, owner: str) -> Address:
        """Return where the owner's log is: no agent's name has a dot, so it is among no agent's threads."""
        log, key = self._kind
        return Address.of(f"{self._agent}.{log}", key, owner)
