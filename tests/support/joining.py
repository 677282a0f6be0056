"""A message that joins a run at work, over any wire of an app."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import httpx

from tests.support.made_app import app_of, served
from tests.support.steered import Working

T = TypeVar("T")
U = TypeVar("U")


@asynccontextmanager
async def steered(wires: Sequence[str]) -> AsyncIterator[tuple[httpx.AsyncClient, Working]]:
    """An app of these wires whose agent Joker takes messages while it works."""
    working = Working("Joker")
    app = app_of(wires=wires)
    app.add_agent(working.agent, busy="steer")
    async with served(app) as (_, http):
        yield http, working
        working.open()


async def both(
    http: httpx.AsyncClient, working: Working, first: Coroutine[Any, Any, T], second: Coroutine[Any, Any, U]
) -> tuple[T, U]:
    """Return the answers of two requests to thread `t`, of which the second comes while the run of the first works."""
    at_work = asyncio.ensure_future(first)
    await working.at_work()
    joining = asyncio.ensure_future(second)
    while len((await http.get("/api/agents/Joker/threads/t/runs")).json()["runs"]) < 2:  # noqa: ASYNC110
        await asyncio.sleep(0.01)
    working.open()
    return await at_work, await joining
