"""The state of an agent's budget, for readers before it is used up.

Theory. It is read where it is decided: in the run's recorded calls, in the thread's head, and in the owner's day. So
what is left here is what the next model call finds, but for what is in flight. Nothing is counted for those who look.
"""

from __future__ import annotations

from hosting.amounts import BudgetState
from hosting.core.thread.head import Head
from hosting.core.thread.run import Run
from hosting.core.thread_log import ThreadLog
from hosting.errors import LogUnavailableError, NewerVersionError
from hosting.features.metering.budgets import Budget
from hosting.features.metering.days import OwnerDays
from hosting.features.metering.tasks import TaskUsage
from hosting.names import Address


class BudgetBalance:
    """The budget of one agent, for one event loop; `days` are there if it is for an owner's day."""

    def __init__(self, budget: Budget, log: ThreadLog, days: OwnerDays | None, tasks: TaskUsage) -> None:
        self._budget = budget
        self._log = log
        self._days = days
        self._tasks = tasks

    async def of_owner(self, owner: str) -> BudgetState:
        """Return the rest of the owner's day, or the limit of each run or thread.

        One call of the store, for a day. Raises `LogUnavailableError`.
        """
        if self._days is None:
            return self._budget.allowed
        renews_at, used = await self._days.used(owner)
        return self._budget.state(used, renews_at)

    async def of_run(self, run: Run) -> BudgetState | None:
        """Return the rest of the run's budget, with its background tasks; None if it has none. Raises as `of_owner`."""
        if self._budget.per != "run":
            return None
        return self._budget.state(run.used.plus(await self._tasks.beside_run(run)))

    async def of_thread(self, address: Address, head: Head, owner: str | None) -> BudgetState | None:
        """Return the rest of the thread's budget, or of the day of its `owner`; None if neither is to be shown.

        Raises as `of_owner` does.
        """
        if self._budget.per == "thread":
            return self._budget.state(head.used.plus(await self._tasks.beside_thread(address)))
        return None if self._days is None or owner is None else await self.of_owner(owner)

    async def of_answer(self, run: Run, owner: str | None) -> BudgetState | None:
        """Return the rest to show about a run: of its budget, its thread's, or the day of its `owner`.

        None where none of them is to be shown, and where the store is away: the answer is there all the same. It is one
        call of the store for a day, and for a thread whose end another process appended; background tasks are more.
        """
        try:
            if self._budget.per == "run":
                return await self.of_run(run)
            if self._days is not None:
                return None if owner is None else await self.of_owner(owner)
            head = self._log.remembered(run.address)
            if head is None or head.position < run.last:
                head = await self._log.head(run.address)
            return await self.of_thread(run.address, head, owner)
        except (LogUnavailableError, NewerVersionError):
            return None
