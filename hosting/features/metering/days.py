"""Each owner's usage of an agent's model in a day, counted at one place for all processes.

Theory. What a model's answer used is added to a cell of the owner's (`hosting.core.cells`) before the answer itself
is recorded. So a call counts that was made, also where its process dies before anybody has the answer, and one that is
made again for that counts again. Not counted is an answer whose process dies before it is added.

A day is one of UTC, by the clock of the process that asks, and counts under its own name. So a process whose clock is
wrong spends another day and takes nothing from the one that the others count, and no day is given to anybody twice,
however clocks differ. The cell keeps the days that were counted last, not the newest by name: those of a clock that is
ahead would drive out the right one.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta

from pydantic import Field

from hosting.amounts import UNUSED, Used
from hosting.core.cells import Cell, CellKind, Cells, Counted
from hosting.core.stores.contract import ThreadStore
from hosting.core.thread_log import ThreadLog
from hosting.ports import iso

_KEPT_DAYS = 8
"""Today, those that clocks around midnight are still or already in, and room for clocks that are wrong."""


class _Days(Counted):
    """The usage in each of these `days`, by names such as 2026-01-31; the one that was counted last comes last."""

    days: Mapping[str, Used] = Field(default_factory=dict)


_DAYS = CellKind.of_model("budget", "day", _Days, remembered=True)


class OwnerDays:
    """The days of one agent's owners, for one event loop, in the store of the threads' logs.

    Both methods raise `LogUnavailableError` where the store stays away.
    """

    def __init__(self, agent: str, log: ThreadLog, store: ThreadStore) -> None:
        self._agent = agent
        self._cells = Cells(store, log)
        self._clocks = log.clocks

    async def used(self, owner: str) -> tuple[str, Used]:
        """Return when the next day begins (RFC 3339, UTC), and the owner's usage in this one, in all processes."""
        known, today = await self._cells.read(Cell(_DAYS, self._agent, owner)), self._today()
        next_day = datetime.fromisoformat(f"{today}T00:00:00+00:00") + timedelta(days=1)
        return next_day.strftime("%Y-%m-%dT%H:%M:%SZ"), known.days.get(today, UNUSED)

    async def add(self, owner: str, used: Used) -> None:
        """Count the usage of one call, once."""

        def more(known: _Days) -> _Days:
            today = self._today()
            others = [day for day in known.days.items() if day[0] != today]
            days = [*others, (today, known.days.get(today, UNUSED).plus(used))]
            return known.model_copy(update={"days": dict(days[-_KEPT_DAYS:])})

        await self._cells.count(Cell(_DAYS, self._agent, owner), more)

    def _today(self) -> str:
        return iso(self._clocks.wall())[: len("2026-01-31")]
