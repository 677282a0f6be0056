"""Budgets and limits: a gate before the runs of an agent, a meter in their attempts, and what is left in answers."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from hosting.core.agent.held_run import HeldRun
from hosting.core.hooks import NO_HOOKS, AgentHooks
from hosting.core.stores.contract import ThreadStore
from hosting.core.thread_log import ThreadLog
from hosting.feature import Feature
from hosting.features.metering.http import OF_LIMIT, BudgetHandlers
from hosting.http.request import Bound
from hosting.http.route import Header
from hosting.plan import AgentPlan

if TYPE_CHECKING:
    from hosting.features.metering.balance import BudgetBalance
    from hosting.features.metering.tasks import TaskUsage

logger = logging.getLogger(__name__)


class MeteringFeature(Feature):
    """The budgets and limits of one app; what is counted of owners is one cell for each day and each minute."""

    name = "metering"
    links: ClassVar[Mapping[str, str]] = {"budget_url": "budget"}
    page = Path(__file__).with_name("ui")

    def __init__(self, store: ThreadStore, log: ThreadLog, held: Mapping[str, HeldRun], tasks: TaskUsage) -> None:
        """`held` are the runs of this process, and `tasks` reads what background tasks use."""
        self._store = store
        self._log = log
        self._held = held
        self._tasks = tasks
        self._balances: dict[str, BudgetBalance] = {}

    def has(self, agent: AgentPlan) -> bool:
        """Return whether an agent or a workflow has a budget."""
        return agent.name in self._balances

    def gate_headers(self, agent: AgentPlan) -> Sequence[Header]:
        """Return those of an agent's limit."""
        return () if agent.options.limit is None else OF_LIMIT

    def rules_of(self, agent: AgentPlan) -> Mapping[str, Any]:
        """Return what its budget allows, and its limit."""
        rules: dict[str, Any] = {}
        if agent.options.budget is not None:
            from hosting.features.metering.budgets import checked_budget

            budget = checked_budget(agent.name, agent.options.budget)
            rules["budget"] = None if budget is None else budget.allowed
        if agent.options.limit is not None:
            from hosting.features.metering.limits import checked_limit

            limit = checked_limit(agent.name, agent.options.limit)
            rules["limit"] = None if limit is None else limit.allowed
        return rules

    def routes(self) -> Sequence[Bound]:
        """Return the route of all agents' budgets; one without a budget has null there."""
        return BudgetHandlers(self._balances).bound()

    def hooks(self, agent: AgentPlan) -> AgentHooks:
        """Return those of an agent with a budget or a limit.

        Raises `ConfigurationError` for a wrong option, and if the agent's model calls cannot be counted or priced.
        """
        if agent.options.budget is None and agent.options.limit is None:
            return NO_HOOKS
        from hosting.features.metering.balance import BudgetBalance
        from hosting.features.metering.budgets import checked_budget
        from hosting.features.metering.days import OwnerDays
        from hosting.features.metering.limiter import Limiter
        from hosting.features.metering.limits import checked_limit
        from hosting.features.metering.minutes import OwnerMinutes
        from hosting.features.metering.model_calls import check_counted, check_prices
        from hosting.features.metering.spending import Spending

        budget, limit = checked_budget(agent.name, agent.options.budget), checked_limit(agent.name, agent.options.limit)
        gate = minutes = days = None
        if limit is not None:
            minutes = OwnerMinutes(agent.name, self._log, self._store, limit) if limit.has_minutes else None
            gate = Limiter(limit, minutes, self._held)
            if limit.tokens_per_minute is None:
                minutes = None  # what attempts use is not counted there
        if budget is None and minutes is None:
            return AgentHooks(gate=gate)
        check_counted(agent, "a limit of tokens" if budget is None else "a budget")
        _warn_of_uncounted(agent)
        balance = None
        if budget is not None:
            check_prices(agent, budget)
            days = OwnerDays(agent.name, self._log, self._store) if budget.per == "owner/day" else None
            balance = self._balances[agent.name] = BudgetBalance(budget, self._log, days, self._tasks)
        spending = partial(Spending, budget=budget, days=days, minutes=minutes, unpriced=set[str]())
        meter = partial(spending, tasks=self._tasks)
        return AgentHooks(gate=gate, meter=meter, balance=balance)


def _warn_of_uncounted(agent: AgentPlan) -> None:
    from hosting.features.metering.model_calls import uncounted

    for where, names in uncounted(agent).items():
        if names:
            logger.warning(
                "%s %r has a budget or a limit of tokens, and the code of %r names %s: its model calls are not "
                "counted (docs/guides/budgets.md#code-that-asks-a-model).",
                *(agent.kind.title(), agent.name, where, ", ".join(names)),
            )
