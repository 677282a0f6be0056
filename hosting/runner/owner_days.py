"""What each owner has used of an agent's model in a day, counted at one place for all processes.

Theory. What a model's answer used is added to the owner's head (`hosting.runner.owner_heads`) before the answer itself
is recorded. So a call counts that was made, also where its process dies before anybody has the answer, and one that is
made again for that counts again. Not counted is an answer whose process dies before it is added.

A day is one of UTC, by the clock of the process that asks. The first call of another day begins at nothing, in place of
what was before. It never goes back, so clocks that differ give nobody a day twice.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from hosting.budgets import Used
from hosting.names import new_id
from hosting.ports import iso
from hosting.runner.owner_heads import OwnerHead, OwnerHeads
from hosting.runner.thread_log import ThreadLog
from hosting.stores.contract import ThreadStore


class _Day(OwnerHead):
    """What was used in a `day`, such as 2026-01-31."""

    day: str = ""
    tokens: int = 0
    cost: int = 0


class OwnerDays:
    """The days of one agent's owners, for one event loop, in the store of the threads' logs.

    Both methods raise `LogUnavailableError` where the store stays away.
    """

    def __init__(self, agent: str, log: ThreadLog, store: ThreadStore) -> None:
        self._heads = OwnerHeads(("budget", "day"), agent, _Day, log, store)
        self._clocks = log.clocks

    async def used(self, owner: str) -> tuple[str, Used]:
        """Return when the next day begins (RFC 3339, UTC), and what the owner used in this one, in all processes."""
        day = self._today(await self._heads.read(owner))
        next_day = datetime.fromisoformat(f"{day.day}T00:00:00+00:00") + timedelta(days=1)
        return next_day.strftime("%Y-%m-%dT%H:%M:%SZ"), Used(day.tokens, day.cost)

    async def add(self, owner: str, used: Used) -> None:
        """Count what one call used, once."""
        counted = new_id()

        def more(known: _Day) -> _Day | None:
            if counted in known.counted:
                return None
            day = self._today(known)
            return _Day(
                day=day.day,
                tokens=day.tokens + used.tokens,
                cost=day.cost + used.cost,
                counted=known.counting(counted),
            )

        await self._heads.change(owner, more)

    def _today(self, known: _Day) -> _Day:
        today = iso(self._clocks.wall())[: len("2026-01-31")]
        return known if known.day >= today else _Day(day=today)
