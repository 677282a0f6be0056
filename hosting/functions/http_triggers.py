"""The HTTP triggers of an agent's run route, and of the lists over agents and threads.

Each handler parses its request, calls one verb of the service, and replies; what it raises becomes a problem in
`answering`.
"""

from __future__ import annotations

from functools import partial

from hosting.core.request.contents import limits_of
from hosting.core.services import Services
from hosting.functions.answering import Served, serves
from hosting.http import routes, workflow_routes
from hosting.http.lists import agents_reply, workflows_reply
from hosting.http.mounts import run_at
from hosting.http.replies import (
    Reply,
    Streamed,
)
from hosting.http.request import HttpRequest
from hosting.http.runs import Starting
from hosting.plan import AgentPlan
from hosting.settings import Settings


def register_agent(served: Served, agent: AgentPlan, services: Services, settings: Settings) -> None:
    """Register `POST agents/<name>/run` of one agent as the function `http-<name>`."""
    starting, limits = Starting(services), limits_of(agent, settings)
    route = routes.run_route if agent.workflow is None else workflow_routes.workflow_run_route
    serves(served, route(agent.name))(partial(starting.reply, agent=agent, limits=limits))


def register_mounted_runs(served: Served, services: Services, settings: Settings) -> None:
    """Register the run of a thread's agent at each place that does not name the agent."""
    starting = Starting(services)

    async def start(request: HttpRequest) -> Reply | Streamed:
        return await starting.reply(request, request.agent, limits_of(request.agent, settings))

    for mount in served.mounts:
        serves(served, run_at(mount))(start)


def register_lists(served: Served) -> None:
    """Register the lists of agents and of workflows."""

    @serves(served, routes.agents_route(served.link_names))
    async def agents(request: HttpRequest) -> Reply:
        administers = served.access.administers(request.caller.principal)
        plans = list(served.plan.agents.values())
        return agents_reply(plans, request.base_url, served.links, administers=administers)

    if served.workflows:

        @serves(served, workflow_routes.workflows_route(served.link_names))
        async def workflows(request: HttpRequest) -> Reply:
            plans = list(served.plan.agents.values())
            return workflows_reply(plans, request.base_url, served.links)
