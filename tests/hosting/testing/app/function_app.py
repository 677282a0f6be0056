"""A user's app: a tool that may be called again, one that only says so, and an agent that calls twice."""

import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from agent_framework import Agent, FunctionInvocationContext, FunctionMiddleware, tool

from hosting.app import AgentFunctionApp
from hosting.offline.model import OfflineChatClient
from hosting.options import Retry
from hosting.tools import current, idempotent

LEDGER = Path(os.environ["LEDGER"])


def booked(line: str) -> None:
    with LEDGER.open("a", encoding="utf-8") as ledger:
        ledger.write(line + "\n")


@idempotent
@tool
def refund(order: str) -> str:
    """Pay back, once for a call: the payment has the call's key."""
    if current().call_key not in LEDGER.read_text(encoding="utf-8"):
        booked(f"{order} {current().call_key}")
    return "paid back"


@idempotent
@tool
def charge(order: str) -> str:
    """Take money, and say without reason that a second call does no harm."""
    booked(order)
    return "charged"


@tool
def transfer(order: str) -> str:
    """Send money. It may not be called again."""
    booked(order)
    return "sent"


@tool(approval_mode="always_require")
def delete(order: str) -> str:
    """Delete an order, if a person agrees."""
    booked(f"deleted {order}")
    return "deleted"


@idempotent
@tool
async def ship(order: str) -> str:
    """Ship an order, to where a person says within two hours."""
    place = await current().ask("Where does it go?", seconds=7200.0, default="the depot")
    booked(f"{order} to {place}")
    return "shipped"


class Twice(FunctionMiddleware):
    """Makes each call of a tool twice, as careless code that tries again does."""

    async def process(self, context: FunctionInvocationContext, call_next: Callable[[], Awaitable[None]]) -> None:
        await call_next()
        await call_next()


def agent(name: str, *tools: Any, **named: Any) -> Agent[Any]:
    return Agent(OfflineChatClient(), "Do as told.", name=name, tools=list(tools), **named)


app = AgentFunctionApp(
    agents=[
        agent("clerk", refund, delete),
        agent("cashier", charge),
        agent("banker", transfer),
        agent("hasty", transfer, middleware=[Twice()]),
        agent("shipper", ship),
    ]
)
app.add_agent(agent("forgetful"), ttl_seconds=86_400)
app.add_agent(agent("patient"), retry=Retry(attempts=2, first_pause_seconds=0.0))
