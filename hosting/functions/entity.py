"""Entity triggers: an async handler on a generic trigger, which speaks the batch protocol itself.

The SDK's own decorator is synchronous and would hold a worker thread per run. The parameter carries no annotation: the
worker refuses `str` for an entity trigger (recordings: "Seen, worth knowing").
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import azure.durable_functions as df

from hosting.calling.orchestrations import ENGINE, Engine
from hosting.functions.client import DurableOrchestrations


def register_entity(app: df.DFApp, name: str, answer: Callable[[str], Awaitable[str]]) -> None:
    """Register the entity of that name; `answer` takes a batch and gives the answer to it."""

    async def handle(context, client: Any):  # type: ignore[no-untyped-def]
        ENGINE.set(Engine(DurableOrchestrations(client), asyncio.get_running_loop()))
        return await answer(_text(context))

    trigger = app.generic_trigger(arg_name="context", type="entityTrigger", entityName=name)
    app.function_name(name)(trigger(app.durable_client_input(client_name="client")(handle)))


def _text(context: Any) -> str:
    return context if isinstance(context, str) else str(context.body)
