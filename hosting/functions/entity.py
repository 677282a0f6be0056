"""Entity triggers: an async handler on a generic trigger, which speaks the batch protocol itself.

The SDK's own decorator is synchronous and would hold a worker thread per run. The parameter carries no annotation: the
worker refuses `str` for an entity trigger (recordings: "Seen, worth knowing"). It is not called `context`, because that
name without a binding is where the worker gives the invocation.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import azure.durable_functions as df
import azure.functions as func

from hosting.calling.orchestrations import ENGINE, Engine
from hosting.functions.client import DurableOrchestrations
from hosting.process.invocation import begin_invocation


def register_entity(app: df.DFApp, name: str, answer: Callable[[str], Awaitable[str]]) -> None:
    """Register the entity of that name; `answer` takes a batch and gives the answer to it."""

    async def handle(batch, client: Any, context: func.Context):  # type: ignore[no-untyped-def]
        begin_invocation(context)
        ENGINE.set(Engine(DurableOrchestrations(client), asyncio.get_running_loop()))
        return await answer(_text(batch))

    trigger = app.generic_trigger(arg_name="batch", type="entityTrigger", entityName=name)
    app.function_name(name)(trigger(app.durable_client_input(client_name="client")(handle)))


def _text(batch: Any) -> str:
    return batch if isinstance(batch, str) else str(batch.body)
