"""Functional workflows that tests host: functions of steps, and of agents over the scripted model."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from agent_framework import FunctionalWorkflowDefinition, RunContext, step, workflow

from hosting.tools import idempotent
from tests.support.app.scripted import scripted_agent
from tests.support.flows import Order, Plan, Receipt, Verdict

DONE: list[str] = []
"""What steps and functions did, in order."""
writer = scripted_agent("Writer")


class TillError(Exception):
    """The till is broken."""


@step
async def upper(text: str) -> str:
    DONE.append(f"upper {text}")
    return text.upper()


@idempotent
@step
async def backwards(text: str) -> str:
    """Return the text the other way round."""
    DONE.append(f"backwards {text}")
    return text[::-1]


@workflow(name="Echo", description="Says it the other way round.")
async def echo(text: str) -> str:
    """Call one step with the result of another; `wait` never ends, `fail` raises."""
    if text == "wait":
        await asyncio.Event().wait()
    if text == "fail":
        raise ValueError("a secret of the function")
    return await backwards(await upper(text))


@step
async def price(order: Order) -> int:
    if order.item == "nothing":
        raise TillError("broken")
    return 3 * order.count


@workflow(name="Shop")
async def shop(order: Order) -> Receipt:
    """Take an order, and return its receipt: of nothing where the till is broken."""
    try:
        return Receipt(order.item, await price(order))
    except TillError:
        return Receipt("broken", 0)


@workflow(name="Side")
async def side(text: str) -> list[str]:
    """Call steps side by side."""
    return list(await asyncio.gather(*(upper(part) for part in text.split("+"))))


@workflow(name="Ask")
async def ask(text: str, ctx: RunContext) -> str:
    """Ask a person about each plan, until all are approved."""
    rounds = ctx.get_state("rounds", 0)
    for name in text.split("+"):
        plan = await upper(name)
        verdict = await ctx.request_info(Plan(plan, ["one"]), Verdict)
        if not verdict.approved:
            return f"{plan} refused: {verdict.note}"
        rounds += 1
    ctx.set_state("rounds", rounds)
    return f"{rounds} approved"


@step
async def reviewed(text: str, ctx: RunContext) -> str:
    """Ask within a step."""
    DONE.append(f"reviewed {text}")
    note: str = await ctx.request_info({"text": text}, str)
    return f"{text}: {note}"


@workflow(name="Within")
async def within(text: str) -> list[str]:
    """Ask within steps that run side by side."""
    return list(await asyncio.gather(*(reviewed(part) for part in text.split("+"))))


@step
async def written(text: str) -> str:
    """Have an agent write, in a step."""
    return (await writer.run(text)).text


@workflow(name="Write")
async def write(text: str) -> str:
    """Have an agent write in a step, and in the function."""
    return f"{await written(text)} / {(await writer.run(text)).text}"


@dataclass
class Odd:
    """A value of a module that no workflow is in."""

    name: str


FUNCTIONS: list[FunctionalWorkflowDefinition] = [echo, shop, side, ask, within, write]
