"""The amounts that runs use, in tokens and in money, and how budgets and limits stand.

These values stand in stored events, in answers and in refusals, also of an app without a budget and without a limit.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple, NotRequired

from typing_extensions import TypedDict

Per = Literal["run", "thread", "owner/day"]
MOST_TOKENS = 2**53
"""More than one run can use, and as good as none where an entry has it; sums of it stay small in a head."""
_UNIT = 10**12
"""A price has millionths of a unit for a million tokens, so a token's cost is whole trillionths."""


class BudgetState(TypedDict):
    """The state of a budget: its limit in tokens or money for each `per`, the amounts used and left.

    The amounts used and left are missing if the answer is not about one run or thread. Money is a decimal number as
    text, in the unit of the app's own prices. The budget of an owner's day renews at `renews_at` (RFC 3339, UTC).
    """

    per: Per
    tokens: NotRequired[int]
    used_tokens: NotRequired[int]
    left_tokens: NotRequired[int]
    cost: NotRequired[str]
    used_cost: NotRequired[str]
    left_cost: NotRequired[str]
    renews_at: NotRequired[str]


class Used(NamedTuple):
    """Tokens, and their cost in trillionths of a unit of money; 0 without a price."""

    tokens: int = 0
    cost: int = 0

    def plus(self, more: Used) -> Used:
        """Return both together."""
        return Used(self.tokens + more.tokens, self.cost + more.cost)


UNUSED = Used()


class LimitState(TypedDict):
    """A limit: the amount that it allows, `most`, and the amount `left`.

    It counts a caller's `requests` or `tokens` in a minute, or the agent's `runs` at once.
    """

    of: Literal["requests", "tokens", "runs"]
    per: Literal["owner/minute", "process"]
    most: int
    left: int


def counted_tokens(usage: Mapping[str, Any] | None) -> int:
    """Return all tokens that a model counted in one answer, by the framework's names."""
    both = token_count(usage, "input_token_count") + token_count(usage, "output_token_count")
    return max(token_count(usage, "total_token_count"), both)


def token_count(usage: Mapping[str, Any] | None, name: str) -> int:
    """Return one count; 0 for a value that cannot be a number of tokens, as in a head."""
    value = (usage or {}).get(name)
    return value if type(value) is int and 0 <= value <= MOST_TOKENS else 0


def cost_text(trillionths: int) -> str:
    """Return an amount of money as a decimal number, exact and as short as it is."""
    whole, part = divmod(trillionths, _UNIT)
    return f"{whole}.{part:012d}".rstrip("0").rstrip(".")
