"""The route of an agent's budget, and the headers of its limit (docs/guides/budgets.md, docs/guides/limits.md)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from typing_extensions import TypedDict

from hosting.amounts import BudgetState
from hosting.http import places
from hosting.http.replies import Reply, json_reply
from hosting.http.request import Bound, HttpRequest
from hosting.http.route import LOG, Header, Route, ok

if TYPE_CHECKING:
    from hosting.features.metering.balance import BudgetBalance


class AgentBudget(TypedDict):
    """An agent's budget: the rest of the caller's day, or the limit of each run or thread."""

    agent: str
    budget: BudgetState | None


BUDGET = Route(
    "budget",
    "GET",
    places.AGENT.below("budget"),
    "Read the agent's budget: the rest of today, or the limit of each run or thread",
    ok(AgentBudget),
    LOG,
)
OF_LIMIT = (
    Header("RateLimit-Policy", "The limit, if the app has one, by draft-ietf-httpapi-ratelimit-headers-11."),
    Header("RateLimit", "What is left of the limit, and the seconds until there is more."),
)
"""Of answers to requests that begin a run."""


class BudgetHandlers:
    """The handler of the route of all agents' budgets."""

    def __init__(self, balances: Mapping[str, BudgetBalance]) -> None:
        """`balances` are those of agents with a budget, by their names."""
        self._balances = balances

    def bound(self) -> Sequence[Bound]:
        """Return the route with its handler."""
        return (Bound(BUDGET, self._read),)

    async def _read(self, request: HttpRequest) -> Reply:
        agent = request.agent.name
        balance = self._balances.get(agent)
        budget = None if balance is None else await balance.of_owner(request.caller.owner)
        body: AgentBudget = {"agent": agent, "budget": budget}
        return json_reply(200, body)
