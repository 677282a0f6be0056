"""The HTTP triggers about the app itself: its health, its OpenAPI document, and its page. None asks for an agent."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import azure.functions as func
from azurefunctions.extensions.http.fastapi import Request, Response

from hosting.functions.answering import HttpRequest, Served, respond, serves
from hosting.http import memory_routes, routes
from hosting.http.deliveries import NOT_TAKEN
from hosting.http.openapi import ServedApp, openapi_document
from hosting.http.overview_replies import health_reply
from hosting.http.page import FUNCTION as PAGE_FUNCTION
from hosting.http.page import ROUTE as PAGE_ROUTE
from hosting.http.page import Page
from hosting.http.replies import Reply, json_reply
from hosting.request.contents import limits_of
from hosting.settings import Settings
from hosting.stores.connection import StoreReadiness


def register_health(
    served: Served, readiness: StoreReadiness, admits: Sequence[Callable[[], None]], *, lists_agents: bool
) -> None:
    """Register `GET health`, that the app runs, and `GET health/ready`, that it admits runs and can use its log.

    `lists_agents`: the first names the agents, to whoever asks.
    """

    @serves(served, routes.HEALTH)
    async def health(request: HttpRequest) -> Reply:
        return health_reply(served.plan.agents.values() if lists_agents else None)

    @serves(served, routes.READY)
    async def ready(request: HttpRequest) -> Reply:
        for admit in admits:
            admit()
        await readiness.check()
        return json_reply(200, {"status": "ready"})


def register_openapi(served: Served, settings: Settings, *, has_health: bool) -> None:
    """Register `GET openapi.json`; agents that are added later are in the document too."""

    @serves(served, routes.OPENAPI)
    async def describe(request: HttpRequest) -> Reply:
        described = ServedApp(
            {each.name: limits_of(each.agent, settings) for each in served.plan.served_of("agent")},
            has_health,
            served.plan.requires_key,
            has_owners=served.access.resolver is not None,
            has_orchestrations=routes.ORCHESTRATION in served.routes,
            has_schedules=settings.schedules > 0,
            has_memory=memory_routes.FACTS in served.routes,
            workflows={each.name: limits_of(each.agent, settings) for each in served.plan.served_of("workflow")},
            wires=tuple(served.wires),
            has_webhooks=NOT_TAKEN in served.routes,
            limited=frozenset(each.name for each in served.plan.agents.values() if each.limit is not None),
        )
        return json_reply(200, openapi_document(described, request.base_url))


def register_page(served: Served) -> None:
    """Register `GET ui/...`, the page for a browser: no key, for it holds nothing."""
    page = Page()

    async def reply(req: Request) -> Reply:
        return page.reply(req.url.path, req.path_params.get("path") or "", req.headers)

    async def show(req: Request) -> Response:
        return await respond(req, reply(req))

    trigger = served.app.route(route=PAGE_ROUTE, methods=["GET"], auth_level=func.AuthLevel.ANONYMOUS)
    served.app.function_name(PAGE_FUNCTION)(trigger(show))
