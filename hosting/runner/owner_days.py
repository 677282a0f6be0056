"""Each owner's usage of an agent's model in a day, counted at one place for all processes.

Theory. What a model's answer used is added to the owner's head (`hosting.runner.owner_heads`) before the answer itself
is recorded. So a call counts that was made, also where its process dies before anybody has the answer, and one that is
made again for that counts again. Not counted is an answer whose process dies before it is added.

A day is one of UTC, by the clock of the process that asks, and counts under its own name. So a process whose clock is
wrong spends another day and takes nothing from the one that the others count, and no day is given to anybody twice,
however clocks differ. The head keeps the days that were counted last, not the newest by name: those of a clock that is
ahead would drive out the right one.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta

from pydantic import Field

from hosting.budgets import UNUSED, Used
from hosting.names import new_id
from hosting.ports import iso
from hosting.runner.owner_heads import OwnerHead, OwnerHeads
from hosting.runner.thread_log import ThreadLog
from hosting.stores.contract import ThreadStore

_KEPT_DAYS = 8
"""Today, those that clocks around midnight are still or already in, and room for clocks that are wrong."""


class _Days(OwnerHead):
    """The usage in each of these `days`, by names such as 2026-01-31; the one that was counted last comes last."""

    days: Mapping[str, Used] = Field(default_factory=dict)


class OwnerDays:
    """The days of one agent's owners, for one event loop, in the store of the threads' logs.

    Both methods raise `LogUnavailableError` where the store stays away.
    """

    def __init__(self, agent: str, log: ThreadLog, store: ThreadStore) -> None:
        self._heads = OwnerHeads(("budget", "day"), agent, _Days, log, store)
        self._clocks = log.clocks

    async def used(self, owner: str) -> tuple[str, Used]:
        """Return when the next day begins (RFC 3339, UTC), and the owner's usage in this one, in all processes."""
        known, today = await self._heads.read(owner), self._today()
        next_day = datetime.fromisoformat(f"{today}T00:00:00+00:00") + timedelta(days=1)
        return next_day.strftime("%Y-%m-%dT%H:%M:%SZ"), known.days.get(today, UNUSED)

    async def add(self, owner: str, used: Used) -> None:
        """Count the usage of one call, once."""
        counted = new_id()

        def more(known: _Days) -> _Days | None:
            if counted in known.counted:
                return None
            today = self._today()
            others = [day for day in known.days.items() if day[0] != today]
            days = [*others, (today, known.days.get(today, UNUSED).plus(used))]
            return known.model_copy(update={"days": dict(days[-_KEPT_DAYS:]), "counted": known.counting(counted)})

        await self._heads.change(owner, more)

    def _today(self) -> str:
        return iso(self._clocks.wall())[: len("2026-01-31")]
