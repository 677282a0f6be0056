"""The state of an agent's budget, for readers before it is used up.

Theory. It is read where it is decided: in the run's recorded calls, in the thread's head, and in the owner's day. So
what is left here is what the next model call finds, but for what is in flight. Nothing is counted for those who look.
"""

from __future__ import annotations

from hosting.amounts import BudgetState
from hosting.core.owner_days import OwnerDays
from hosting.core.thread.head import Head
from hosting.core.thread.run import Run
from hosting.core.thread_log import ThreadLog
from hosting.errors import LogUnavailableError, NewerVersionError
from hosting.plan import AgentPlan


class Budgets:
    """The budgets of all agents of an app, for one event loop."""

    def __init__(self, log: ThreadLog) -> None:
        self._log = log
        self._days: dict[str, OwnerDays] = {}

    def add(self, agent: AgentPlan, days: OwnerDays) -> None:
        """Have the days of this agent's owners read there."""
        self._days[agent.name] = days

    async def of_owner(self, agent: AgentPlan, owner: str) -> BudgetState | None:
        """Return the rest of the owner's day, or the limit of each run or thread; None without a budget.

        One call of the store, for a day. Raises `LogUnavailableError`.
        """
        if agent.budget is None:
            return None
        if agent.budget.per != "owner/day":
            return agent.budget.allowed
        renews_at, used = await self._days[agent.name].used(owner)
        return agent.budget.state(used, renews_at)

    async def of_thread(self, agent: AgentPlan, head: Head, owner: str | None) -> BudgetState | None:
        """Return the rest of the thread's budget, or of the day of its `owner`; None if neither is to be shown.

        Raises as `of_owner` does.
        """
        if agent.budget is not None and agent.budget.per == "thread":
            return agent.budget.state(head.used)
        is_of_owner = agent.budget is not None and agent.budget.per == "owner/day"
        return await self.of_owner(agent, owner) if is_of_owner and owner is not None else None

    async def of_answer(self, agent: AgentPlan, run: Run, owner: str | None) -> BudgetState | None:
        """Return the rest to show about a run: of its budget, its thread's, or the day of its `owner`.

        None where none of them is to be shown, and where the store is away: the answer is there all the same. It is one
        call of the store for a day, and for a thread whose end another process appended.
        """
        if agent.budget is None or agent.budget.per == "run":
            return budget_of_run(agent, run)
        try:
            if agent.budget.per == "owner/day":
                return None if owner is None else await self.of_owner(agent, owner)
            head = self._log.remembered(run.address)
            if head is None or head.position < run.last:
                head = await self._log.head(run.address)
        except (LogUnavailableError, NewerVersionError):
            return None
        return agent.budget.state(head.used)


def budget_of_run(agent: AgentPlan, run: Run) -> BudgetState | None:
    """Return the rest of the run's own budget; None if it has none."""
    if agent.budget is None or agent.budget.per != "run":
        return None
    return agent.budget.state(run.used)
