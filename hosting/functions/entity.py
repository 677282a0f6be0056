"""The entity trigger `dafx-<agent>`: an async handler on a generic trigger, which speaks the batch protocol itself.

The SDK's own decorator is synchronous and would hold a worker thread per run. The parameter carries no annotation: the
worker refuses `str` for an entity trigger (recordings: "Seen, worth knowing").
"""

from __future__ import annotations

from typing import Any

import azure.durable_functions as df

from hosting.entity import AgentEntity
from hosting.names import entity_name


def register_entity(app: df.DFApp, agent: str, entity: AgentEntity) -> None:
    """Register the entity of one agent."""

    async def handle(context):  # type: ignore[no-untyped-def]
        return await entity.handle(_text(context))

    name = entity_name(agent)
    app.function_name(name)(app.generic_trigger(arg_name="context", type="entityTrigger", entityName=name)(handle))


def _text(context: Any) -> str:
    return context if isinstance(context, str) else str(context.body)
