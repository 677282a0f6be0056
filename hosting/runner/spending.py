"""What one attempt of a run spends of its agent's budget: asked before each model call, and counted after it.

Theory. The budget of a run begins with what the run's recorded calls used, and that of a thread with what its ended
runs did, as the thread's head has it. A call of this attempt counts as soon as it is answered, recorded or not: those
that tools make side by side see each other's.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from agent_framework import ChatContext, ChatResponse

from hosting.budgets import UNUSED, Budget, Used, counted_tokens
from hosting.errors import BudgetExceededError, ConfigurationError, UnpricedModelError
from hosting.runner.framework import agents_within
from hosting.thread.events import ModelResult
from hosting.thread.run import Run


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

    def refusal(self) -> BudgetExceededError | None:
        """Return why no model call begins now, or None."""
        return self._budget.refusal(self._before.plus(self.used))

    def count(self, context: ChatContext, answer: ChatResponse[Any]) -> int:
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
