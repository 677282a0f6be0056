"""What one attempt of a run spends of its agent's budget: asked before each model call, and counted after it.

Theory. The budget of a run begins with what the run's recorded calls used, and that of a thread with what its ended
runs did, as the thread's head has it. A call of this attempt counts as soon as it is answered, recorded or not: those
that tools make side by side see each other's. That of an owner's day is asked of the day's own log each time, because
runs of other threads spend it too.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable
from datetime import datetime, timedelta
from typing import Any, TypeVar

from agent_framework import ChatContext, ChatResponse

from hosting.budgets import UNUSED, Budget, Used, counted_tokens
from hosting.errors import ConfigurationError, UnpricedModelError
from hosting.runner.framework import agents_within
from hosting.runner.owner_days import OwnerDays
from hosting.thread.events import ModelResult
from hosting.thread.run import Run

T = TypeVar("T")


class Spending:
    """What the run has `used`, with all its attempts; `model` answered last, by its own name."""

    def __init__(self, budget: Budget, run: Run, used_before: Used) -> None:
        """The runs of the thread that have ended used `used_before`."""
        self._budget = budget
        self._before = used_before if budget.per == "thread" else UNUSED
        self.model = ""
        self.used = UNUSED
        for step in run.steps:
            if isinstance(step, ModelResult):
                tokens = counted_tokens(step.response.get("usage_details"))
                self.used = self.used.plus(Used(tokens, step.cost))

    async def check(self) -> None:
        """Raise `BudgetExceededError` where no model call may begin now."""
        self._budget.check(self._before.plus(self.used))

    async def count(self, context: ChatContext, answer: ChatResponse[Any]) -> int:
        """Count one answer, and return what it cost, in trillionths of a unit of money.

        The price is that of the model which answered, else of the one that was asked: models answer under the names of
        their versions. Raises `UnpricedModelError` where neither has one.
        """
        asked = (context.options or {}).get("model") or getattr(context.client, "model", None)
        self.model, cost = str(answer.model or asked or ""), 0
        if self._budget.prices:
            price = self._budget.price(answer.model, asked)
            if price is None:
                raise UnpricedModelError.of(self.model)
            cost = price.of(answer.usage_details)
        self.used = self.used.plus(Used(counted_tokens(answer.usage_details), cost))
        return cost


class DaySpending(Spending):
    """The same of a budget for each owner's day. Made on the loop of the day's log, and called from the agent's."""

    def __init__(self, budget: Budget, run: Run, days: OwnerDays) -> None:
        super().__init__(budget, run, UNUSED)
        self._owner = run.address.owner
        self._days = days
        self._loop = asyncio.get_running_loop()

    async def check(self) -> None:
        """Raise `BudgetExceededError` where no model call may begin now, and `LogUnavailableError`."""
        day, used = await self._on_log(self._days.used(self._owner))
        next_day = datetime.fromisoformat(f"{day}T00:00:00+00:00") + timedelta(days=1)
        self._budget.check(used, next_day.strftime("%Y-%m-%dT%H:%M:%SZ"))

    async def count(self, context: ChatContext, answer: ChatResponse[Any]) -> int:
        """Count one answer also for the day; raises `LogUnavailableError`, too."""
        before = self.used
        cost = await super().count(context, answer)
        # A run that is cancelled now has had the answer all the same.
        counting = self._on_log(self._days.add(self._owner, Used(self.used.tokens - before.tokens, cost)))
        await asyncio.shield(counting)
        return cost

    def _on_log(self, call: Coroutine[Any, Any, T]) -> asyncio.Future[T]:
        return asyncio.wrap_future(asyncio.run_coroutine_threadsafe(call, self._loop))


def check_prices(name: str, budget: Budget, agents: Iterable[Any]) -> None:
    """Raise `ConfigurationError` if the model of one of these agents, or of one that is its tool, has no price.

    Which model others ask is known when it answers.
    """
    clients = (getattr(one, "client", None) for agent in agents for one in agents_within(agent))
    for model in (getattr(client, "model", None) for client in clients):
        if budget.prices and isinstance(model, str) and budget.price(model) is None:
            raise ConfigurationError(
                f"The budget of agent {name!r} has no price of its model {model[:80]!r}. Add it to prices: "
                f"{{{model[:80]!r}: Price(input=..., output=...)}}."
            )
