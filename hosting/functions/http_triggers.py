"""HTTP triggers: a route and its handler become a function, at each place where the app has the route."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

import azure.functions as func

from hosting.core.request.contents import limits_of
from hosting.core.services import Services
from hosting.functions.answering import Served, function_of
from hosting.http.request import Bound
from hosting.http.routes import run_route
from hosting.http.runs import Starting
from hosting.plan import AgentPlan
from hosting.settings import Settings


def register(served: Served, bound: Iterable[Bound]) -> None:
    """Register each handler for its route, and for the same route at the other places of the app.

    Nothing of a request is read before the app knows who sent it.
    """
    for route, handler in bound:
        mounted = (mount.of(route) for mount in served.mounts)
        for same in (route, *(each for each in mounted if each is not None)):
            _register(served, Bound(same, handler))


def register_agent(served: Served, agent: AgentPlan, services: Services, settings: Settings) -> None:
    """Register `POST agents/<name>/run` of one agent or workflow as the function `http-<name>`."""
    start = partial(Starting(services).reply, agent=agent, limits=limits_of(agent, settings))
    register(served, [Bound(run_route(agent.name, agent.kind), start)])


def _register(served: Served, bound: Bound) -> None:
    route, app = bound.route, served.app
    served.routes.append(route)
    level = {"auth_level": func.AuthLevel.ANONYMOUS} if route.is_anonymous else {}
    trigger = app.route(route=route.path, methods=[route.method], **level)
    function = app.durable_client_input(client_name="client")(function_of(served, bound))
    app.function_name(route.function)(trigger(function))
