"""Orchestrations that sleep for the app and then have due work done: started once, ended, and removed by id."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

from hosting.errors import EngineUnavailableError
from hosting.ports import ClockClient, EntityClient, Purge

_PAUSES = (0.05, 0.2, 0.5, 1.0, 2.0)  # an idle engine looks into its queues once a second


async def start_clock(name: str, instance: str, given: dict[str, Any], client: ClockClient) -> None:
    """Start one, or find that it sleeps. Raises `EngineUnavailableError`."""
    try:
        await client.start(name, instance, given)
    except EngineUnavailableError:
        status = await client.status(instance)  # the engine refuses one that somebody else has just started
        if status is None or status.is_over:
            raise


async def end_clock(instance: str, client: EntityClient) -> Purge:
    """End one and remove its instance, which holds ids. Raises `EngineUnavailableError`."""
    with suppress(EngineUnavailableError):  # it may have ended by itself, or all the same: that shows below
        await client.terminate(instance)
    return await purge_clock(instance, client)


async def purge_clock(instance: str, client: EntityClient) -> Purge:
    """Remove the instance of one that is about to end; "running" where it does not. Raises as `end_clock` does."""
    for pause in _PAUSES:
        if (outcome := await client.purge(instance)) != "running":
            return outcome
        await asyncio.sleep(pause)
    return await client.purge(instance)
