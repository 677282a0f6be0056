"""`GET openapi.json`: what this app serves, for the caller who asks (http-api.md section 3)."""

from __future__ import annotations

import azure.durable_functions as df

from hosting.functions.answering import Asked, register_route
from hosting.openapi.document import openapi_document
from hosting.openapi.served import ServedApp
from hosting.plan import Plan
from hosting.reply.routes import OPENAPI
from hosting.reply.run_replies import Reply, json_reply
from hosting.request.limits import limits_of
from hosting.settings import Settings


def register_openapi(app: df.DFApp, plan: Plan, settings: Settings, *, has_health: bool, asks_for_key: bool) -> None:
    """Register the route; agents that are added later are in the document too."""

    async def describe(asked: Asked) -> Reply:
        agents = {each.name: limits_of(each.agent, settings) for each in plan.agents.values() if each.http}
        return json_reply(200, openapi_document(ServedApp(agents, has_health, asks_for_key), asked.base_url))

    register_route(app, OPENAPI, describe)
