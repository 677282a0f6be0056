"""`GET health` and `GET health/ready`: anonymous, name nothing."""

from __future__ import annotations

from collections.abc import Callable

import azure.durable_functions as df

from hosting.functions.answering import Asked, register_route
from hosting.identity import new_id
from hosting.names import entity_name
from hosting.plan import Plan
from hosting.reply.routes import HEALTH, READY
from hosting.reply.run_replies import Reply, json_reply
from hosting.runlog.log import RunLog


def register_health(app: df.DFApp, plan: Plan, log: RunLog, admit: Callable[[], None]) -> None:
    """Register both: the one says that the app runs, the other that it admits runs and reaches its stores."""

    async def health(asked: Asked) -> Reply:
        return json_reply(200, {"status": "healthy"})

    async def ready(asked: Asked) -> Reply:
        admit()
        await log.read(new_id())
        for agent in list(plan.agents.values())[:1]:
            await asked.client.read(entity_name(agent.name), new_id())
        return json_reply(200, {"status": "ready"})

    register_route(app, HEALTH, health)
    register_route(app, READY, ready)
