"""The HTTP triggers about the app itself: OpenAPI document, page, and refusals of unknown routes."""

from __future__ import annotations

import asyncio
from functools import cached_property
from typing import TYPE_CHECKING

import azure.functions as func
from azurefunctions.extensions.http.fastapi import Request, Response

from hosting.core.request.contents import limits_of
from hosting.errors import HostingError, MethodNotAllowedError, UnknownRouteError
from hosting.functions.answering import Served, respond
from hosting.functions.http_triggers import register
from hosting.http import routes
from hosting.http.page import FOLDER as PAGE_FOLDER
from hosting.http.page import FUNCTION as PAGE_FUNCTION
from hosting.http.page import ROUTE as PAGE_ROUTE
from hosting.http.page import Page
from hosting.http.places import OF_KIND
from hosting.http.replies import Reply
from hosting.http.request import Bound, HttpRequest, joined
from hosting.plan import Kind
from hosting.settings import Settings

if TYPE_CHECKING:
    from hosting.http.openapi import OpenapiDocument, ServedApp

UNKNOWN_FUNCTIONS: dict[Kind, str] = {"agent": "z_unknown_agent", "workflow": "z_unknown_workflow"}
"""The host tries functions by their names, in capitals: these come last, and get the remaining requests."""


def register_unknown(served: Served) -> None:
    """Register the responses to requests below `agents` and `workflows` that no other function serves.

    The host's own is an empty 404, from which nobody learns that the app lacks what another one has.
    """
    for kind, function in UNKNOWN_FUNCTIONS.items():
        _register_unknown(served, kind, function)


def _register_unknown(served: Served, kind: Kind, function: str) -> None:
    place = OF_KIND[kind]
    run = routes.RUN.at(place.below("{name}/run"))

    async def refuse(req: Request) -> Reply:
        name, _, rest = (req.path_params.get("path") or "").partition("/")
        await served.access.of(run, joined(req.headers.items()), {}, {"name": name})
        raise _unserved(served, kind, req.method, name, rest)

    async def unknown(req: Request) -> Response:
        return await respond(req, refuse(req))

    served.app.function_name(function)(served.app.route(route=place.below("{*path}").path)(unknown))


def _unserved(served: Served, kind: Kind, method: str, name: str, rest: str) -> HostingError:
    """Return why a request is not served; raises `UnknownAgentError` if it names no agent."""
    if kind == "workflow" and not served.workflows:
        return UnknownRouteError("This app has no workflows. GET agents lists its agents.")
    rest = rest.rstrip("/")  # which no other route of the host takes account of
    path = f"{kind}s/{served.plan.served(name, kind).name}/{rest}" if name else f"{kind}s"
    parts = rest.split("/")
    if parts == ["run"]:
        return MethodNotAllowedError(f"{method} is not served here. Send POST {path}.")
    words = [parts[0], *parts[2:]] if parts[0] == "threads" else parts  # an id names nothing that an app may lack
    for feature in served.features:
        if not feature.is_on and not set(words).isdisjoint(feature.paths):
            return UnknownRouteError(feature.absent)
    return UnknownRouteError(f"{method} {path[:120]!r} is not a route of this app. GET openapi.json lists all routes.")


def register_openapi(served: Served, settings: Settings) -> None:
    """Register `GET openapi.json`; agents that are added later are in the document too."""
    register(served, [Bound(routes.OPENAPI, _Describing(served, settings).reply)])


class _Describing:
    """Describes the app as it is at each request, in one document for as long as it stays the same."""

    def __init__(self, served: Served, settings: Settings) -> None:
        self._served, self._settings = served, settings
        self._making = asyncio.Lock()

    @cached_property
    def _document(self) -> OpenapiDocument:
        from hosting.http.openapi import OpenapiDocument  # at the first request for it

        return OpenapiDocument()

    async def reply(self, request: HttpRequest) -> Reply:
        described = self._described()
        async with self._making:  # the first one takes its time, in a thread
            text = await asyncio.to_thread(self._document.text, described, request.base_url)
        return Reply(200, text, "application/json")

    def _described(self) -> ServedApp:
        from hosting.http.openapi import ServedApp

        served, plan, settings = self._served, self._served.plan, self._settings
        return ServedApp(
            tuple(served.routes),
            agents={each.name: limits_of(each, settings) for each in plan.served_of("agent")},
            workflows={each.name: limits_of(each, settings) for each in plan.served_of("workflow")},
            requires_key=plan.requires_key,
            has_owners=plan.has_owners,
            wires=tuple(wire.document for wire in served.wires.values()),
            gates=served.gate_headers,
        )


def register_page(served: Served) -> None:
    """Register `ui/...`, the page for a browser: no key, for it holds nothing.

    The host routes HEAD to a function only if it lists it. The server leaves the body out.
    """
    page = Page([PAGE_FOLDER, *(feature.page for feature in served.features if feature.page is not None)])

    async def reply(req: Request) -> Reply:
        return page.reply(req.url.path, req.path_params.get("path") or "", req.headers)

    async def show(req: Request) -> Response:
        return await respond(req, reply(req))

    trigger = served.app.route(route=PAGE_ROUTE, methods=["GET", "HEAD"], auth_level=func.AuthLevel.ANONYMOUS)
    served.app.function_name(PAGE_FUNCTION)(trigger(show))
