"""A workflow as a function: steps one after the other and side by side, and a question to a person."""

import asyncio
import os
from dataclasses import dataclass

from agent_framework import Agent, RunContext, step, workflow

from agents.assistant import get_weather
from agents.models import create_chat_client
from hosting.app import AgentFunctionApp
from hosting.tools import current, idempotent

guide = Agent(client=create_chat_client(os.environ), name="guide", tools=[get_weather])


@dataclass
class Offer:
    """The question to the person."""

    city: str
    weather: str
    price: int


@idempotent
@step
async def forecast(city: str) -> str:
    """Ask an agent: its own model and tool calls are recorded, so this step may run again."""
    return (await guide.run(f"What is the weather in {city}?")).text


@idempotent
@step
async def price_of(city: str) -> int:
    """Look something up: it may run again."""
    return 40 * len(city)


@step
async def book(city: str, price: int) -> str:
    """Do something that must not be done twice. Whoever takes the booking gets a key that is the same at every try."""
    return f"{city} for {price} ({current().call_key[-4:]})"


@workflow(name="Trip", description="Plan a trip, and book it once a person agrees.")
async def trip(city: str, ctx: RunContext) -> str:
    """Run two steps side by side, ask, and book."""
    weather, price = await asyncio.gather(forecast(city), price_of(city))
    if not await ctx.request_info(Offer(city, weather, price), bool):
        return "Nothing is booked."
    return f"Booked: {await book(city, price)}"


app = AgentFunctionApp(workflows=[trip])
