"""How much the runs of an agent, or each of its threads, may use of a model.

Theory. What counts is what the thread's log has: each model call's own count of tokens, recorded before the next call
begins. One process at a time holds a thread's run, and every later attempt reads the same records, so a budget is exact
over any number of processes and kills. No model call begins once the budget is used up. What a call will use is known
after it only, so the last one may use more than was left.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from typing_extensions import TypedDict

from hosting.errors import BudgetExceededError, ConfigurationError

Per = Literal["run", "thread"]
_PERS = ("run", "thread")
MOST_TOKENS = 2**53


class BudgetState(TypedDict):
    """A budget of so many tokens for each `per`: what is used of it, and what is left."""

    per: Per
    tokens: int
    used_tokens: int
    left_tokens: int


@dataclass(frozen=True)
class Budget:
    """So many `tokens` for each run, or for all runs of a thread together; raises `ConfigurationError`."""

    tokens: int
    per: Per = "run"

    def __post_init__(self) -> None:
        if type(self.tokens) is not int or not 1 <= self.tokens <= MOST_TOKENS:
            raise ConfigurationError(f"tokens of a Budget is {str(self.tokens)[:80]!r}. Give a whole number above 0.")
        if self.per not in _PERS:
            raise ConfigurationError(f"per of a Budget is {str(self.per)[:80]!r}. Give 'run' or 'thread'.")

    def state(self, used: int) -> BudgetState:
        """Return how the budget stands when so many tokens are used."""
        left = max(0, self.tokens - used)
        return {"per": self.per, "tokens": self.tokens, "used_tokens": used, "left_tokens": left}

    def refusal(self, used: int) -> BudgetExceededError | None:
        """Return why no more model call begins, or None where some of the budget is left."""
        if used < self.tokens:
            return None
        advice = "Ask for less in one run." if self.per == "run" else "Begin a new thread."
        sentence = f"The {self.per} has used {used} tokens of its {self.tokens}, and none are left. {advice}"
        return BudgetExceededError(sentence, dict(self.state(used)))


def checked_budget(agent: str, budget: Budget | None) -> Budget | None:
    """Return the budget of an agent; raises `ConfigurationError` for what is none."""
    if budget is not None and not isinstance(budget, Budget):
        raise ConfigurationError(
            f"budget of agent {agent!r} is a {type(budget).__name__}. Give Budget(tokens=...) or leave it out."
        )
    return budget


def counted_tokens(usage: Mapping[str, Any] | None) -> int:
    """Return all tokens that a model counted in one answer, by the framework's names.

    What is no number of tokens that anybody can have used counts nothing, as in a head.
    """
    found = usage or {}
    names = ("total_token_count", "input_token_count", "output_token_count")
    counts = [value if type(value := found.get(name)) is int and 0 <= value <= MOST_TOKENS else 0 for name in names]
    return max(counts[0], counts[1] + counts[2])
