"""What each owner has used of an agent's model in a day, counted at one place for all processes.

Theory. Runs of one owner lie on many threads, and no append holds two logs. So the day has a log of its own, which is a
head alone: which day it is, and what was used in it. What a model's answer used is added to the newest head before the
answer itself is recorded. So a call counts that was made, also where its process dies before anybody has the answer,
and one that is made again for that counts again. Not counted is an answer whose process dies before it is added.

An append whose outcome was unknown may turn out to be behind others: the head says by the newest ids what it has.

A day is one of UTC, by the clock of the process that asks. The first call of another day begins at nothing, in place of
what was before. It never goes back, so clocks that differ give nobody a day twice.
"""

from __future__ import annotations

import asyncio
from weakref import WeakValueDictionary

from pydantic import BaseModel, ConfigDict

from hosting.budgets import Used
from hosting.names import Address, new_id
from hosting.ports import iso
from hosting.runner.recent import Recent
from hosting.runner.thread_log import ThreadLog
from hosting.stores.contract import Append, Appended, Conflict, StoredHead, ThreadStore

_NEWEST = 32
"""So many calls may be counted by others while an append with an unknown outcome is repeated."""
_CACHED_BYTES = 1024 * 1024
_HEAD_BYTES = 2048


class _Day(BaseModel):
    """The head: what was used in a `day`, such as 2026-01-31, and the ids of what was `counted` last."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    day: str = ""
    tokens: int = 0
    cost: int = 0
    counted: tuple[str, ...] = ()


class OwnerDays:
    """The days of one agent's owners, for one event loop, in the store of the threads' logs.

    Both methods raise `LogUnavailableError` where the store stays away.
    """

    def __init__(self, agent: str, log: ThreadLog, store: ThreadStore) -> None:
        self._agent = agent
        self._log = log
        self._store = store
        self._heads: Recent[str, StoredHead] = Recent(_CACHED_BYTES)
        self._adding: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def used(self, owner: str) -> tuple[str, Used]:
        """Return the day and what the owner has used in it until now, in whichever process."""
        day = self._day_of(await self._read(owner))
        return day.day, Used(day.tokens, day.cost)

    async def add(self, owner: str, used: Used) -> None:
        """Count what one call used, once."""
        counted = new_id()
        async with self._adding.setdefault(owner, asyncio.Lock()):
            known = self._heads.get(owner) or await self._read(owner)
            while counted not in (day := self._day_of(known)).counted:
                changed = _Day(
                    day=day.day,
                    tokens=day.tokens + used.tokens,
                    cost=day.cost + used.cost,
                    counted=(*day.counted, counted)[-_NEWEST:],
                )
                payload = changed.model_dump_json().encode()
                append = Append(StoredHead(0 if known is None else known.position, new_id(), payload))
                known = await self._append(owner, known, append)

    def _day_of(self, stored: StoredHead | None) -> _Day:
        known = _Day() if stored is None else _Day.model_validate_json(stored.payload)
        today = iso(self._log.clocks.wall())[: len("2026-01-31")]
        return known if known.day >= today else _Day(day=today, counted=known.counted)

    async def _read(self, owner: str) -> StoredHead | None:
        self._heads.forget(owner)
        stored = await self._log.retried("read", lambda: self._store.head(self._address(owner)))
        self._keep(owner, stored)
        return stored

    async def _append(self, owner: str, known: StoredHead | None, append: Append) -> StoredHead | None:
        """Return the head as it stands afterwards, whether this append is in it or not."""
        self._heads.forget(owner)  # whatever ends this call early leaves nothing that may be wrong
        address = self._address(owner)
        answer: Appended | Conflict = await self._log.retried(
            "append", lambda: self._store.append(address, known, append)
        )
        self._keep(owner, answer.head)
        return answer.head

    def _keep(self, owner: str, stored: StoredHead | None) -> None:
        if stored is not None:
            self._heads.keep(owner, stored, _HEAD_BYTES)

    def _address(self, owner: str) -> Address:
        """Return where the log of an owner's days is: no agent's name has a dot, so it is among no agent's threads."""
        return Address.of(f"{self._agent}.budget", "day", owner)
