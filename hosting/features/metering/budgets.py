"""How much the runs of an agent, its threads, or its owners in a day may use of a model, in tokens or in money.

Theory. What counts is what the thread's log has: each model call's own count of tokens, recorded before the next call
begins. One process at a time holds a thread's run, and every later attempt reads the same records, so a budget is exact
over any number of processes and kills. No model call begins once the budget is used up. What a call will use is known
after it only, so the last one may use more than was left. What an owner uses in a day is counted in a log of its own
(`hosting.features.metering.days`), by every process that runs any of the owner's threads.

What a call costs is recorded with it, by the price of then: another table of prices changes nothing of before. Costs
are whole trillionths of a unit of money, so that sums of them are exact. Only the app's author knows which unit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, get_args

from hosting.amounts import MOST_TOKENS, BudgetState, Per, Used, cost_text, counted_tokens, token_count
from hosting.errors import BudgetExceededError, ConfigurationError

_PERS: tuple[Per, ...] = get_args(Per)
_WHO: dict[Per, str] = {"run": "The run", "thread": "The thread", "owner/day": "Today the owner"}
_ADVICE: dict[Per, str] = {"run": "Ask for less in one run.", "thread": "Start a new thread."}
Amount = Decimal | int | float | str
_DECIMALS = 6
_MOST_AMOUNT = 10**9


@dataclass(frozen=True)
class Price:
    """The price of a million tokens of a model: of its input, and of its output.

    `cached` is for those that it reads and has in its cache; without it they cost as the others. Raises
    `ConfigurationError` for what is no price.
    """

    input: Amount
    output: Amount
    cached: Amount | None = None

    def __post_init__(self) -> None:
        for name in ("input", "output", "cached"):
            if (value := getattr(self, name)) is not None or name != "cached":
                _millionths(f"{name} of a Price", value)

    def of(self, usage: Mapping[str, Any] | None) -> int:
        """Return the cost of one call, in trillionths of a unit, by the framework's counts of its tokens.

        Of tokens that are counted only in the total it is not known which they are: they cost as written ones.
        """
        read, written = token_count(usage, "input_token_count"), token_count(usage, "output_token_count")
        cached = min(read, token_count(usage, "cache_read_input_token_count"))
        written = max(written, counted_tokens(usage) - read)
        from_cache = self.input if self.cached is None else self.cached
        parts = ((read - cached, self.input), (cached, from_cache), (written, self.output))
        return sum(tokens * _millionths("a Price", price) for tokens, price in parts)


@dataclass(frozen=True)
class Budget:
    """So many `tokens`, or so much `cost`, for each run, all runs of a thread, or all of an owner in a day (UTC).

    `prices` are by the models' names. Raises `ConfigurationError`.
    """

    tokens: int | None = None
    per: Per = "run"
    cost: Amount | None = None
    prices: Mapping[str, Price] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        tokens, cost = self.tokens, self.cost
        if tokens is None and cost is None:
            raise ConfigurationError(
                "A Budget has neither tokens nor a cost. Give tokens=..., or cost=... and prices=..."
            )
        if tokens is not None and (type(tokens) is not int or not 1 <= tokens <= MOST_TOKENS):
            raise ConfigurationError(
                f"tokens of a Budget is {str(tokens)[:80]!r}. Give a whole number from 1 to {MOST_TOKENS:,}."
            )
        if self.per not in _PERS:
            raise ConfigurationError(f"per of a Budget is {str(self.per)[:80]!r}. Give one of {', '.join(_PERS)}.")
        if cost is not None and _millionths("cost of a Budget", cost) == 0:
            raise ConfigurationError("cost of a Budget is 0, so no model call could start. Give more, or leave it out.")
        _check_prices(self.prices)
        if (cost is None) is not (not self.prices):
            given, missing = ("prices", "cost") if cost is None else ("a cost", "prices")
            raise ConfigurationError(f"A Budget has {given} and no {missing}. Give both, or neither of them.")

    @property
    def most_cost(self) -> int | None:
        """The cost that it allows, in trillionths of a unit; None where it is of tokens alone."""
        return None if self.cost is None else _millionths("cost of a Budget", self.cost) * 10**_DECIMALS

    def price(self, *models: object) -> Price | None:
        """Return the price of the first of these names that has one."""
        return next((self.prices[model] for model in models if isinstance(model, str) and model in self.prices), None)

    @property
    def allowed(self) -> BudgetState:
        """The limits of each run, thread or day."""
        allowed: BudgetState = {"per": self.per}
        if self.tokens is not None:
            allowed["tokens"] = self.tokens
        if (most := self.most_cost) is not None:
            allowed["cost"] = cost_text(most)
        return allowed

    def state(self, used: Used, renews_at: str | None = None) -> BudgetState:
        """Return how the budget stands when so much is used."""
        state = self.allowed
        if self.tokens is not None:
            state |= {"used_tokens": used.tokens, "left_tokens": max(0, self.tokens - used.tokens)}
        if (most := self.most_cost) is not None:
            state |= {"used_cost": cost_text(used.cost), "left_cost": cost_text(max(0, most - used.cost))}
        if renews_at is not None:
            state["renews_at"] = renews_at
        return state

    def check(self, used: Used, renews_at: str | None = None) -> None:
        """Raise `BudgetExceededError` unless some of the budget is left."""
        most, who = self.most_cost, _WHO[self.per]
        if self.tokens is not None and used.tokens >= self.tokens:
            sentence = f"{who} has used {used.tokens} tokens of its {self.tokens}, and none are left."
        elif most is not None and used.cost >= most:
            sentence = f"{who} has cost {cost_text(used.cost)} of its {cost_text(most)}, and nothing is left."
        else:
            return
        advice = f"It renews at {renews_at}." if renews_at is not None else _ADVICE[self.per]
        raise BudgetExceededError(f"{sentence} {advice}", dict(self.state(used, renews_at)))


def checked_budget(agent: str, budget: object) -> Budget | None:
    """Return the budget of an agent; raises `ConfigurationError` for another value."""
    if budget is not None and not isinstance(budget, Budget):
        raise ConfigurationError(
            f"budget of agent {agent!r} is a {type(budget).__name__}. Give Budget(tokens=...) or leave it out."
        )
    return budget


def _check_prices(prices: object) -> None:
    if not isinstance(prices, Mapping):
        raise ConfigurationError(
            f"prices of a Budget is {str(prices)[:80]!r}, which is not a mapping. Give "
            "{'name of the model': Price(input=..., output=...)}."
        )
    for model, price in prices.items():
        if not isinstance(model, str) or not model.strip():
            raise ConfigurationError(
                f"prices of a Budget has a price of {str(model)[:80]!r}, which is not a model name. Give texts."
            )
        if not isinstance(price, Price):
            shown, kind = model[:80], type(price).__name__
            raise ConfigurationError(f"The price of model {shown!r} is a {kind}. Give Price(input=..., output=...).")


def _millionths(name: str, value: Amount | None) -> int:
    """Return an amount in millionths of its unit; a float counts as written. Raises `ConfigurationError`."""
    try:
        amount = Decimal("nan") if isinstance(value, bool) or value is None else Decimal(str(value))
    except ArithmeticError:
        amount = Decimal("nan")
    if amount.is_finite() and 0 <= amount <= _MOST_AMOUNT:
        millionths = int(amount.scaleb(_DECIMALS))
        if Decimal(millionths).scaleb(-_DECIMALS) == amount:
            return millionths
    raise ConfigurationError(
        f"{name} is {str(value)[:80]!r}. Give a number from 0 to {_MOST_AMOUNT:,} with at most {_DECIMALS} decimals, "
        "such as '0.50'."
    )
