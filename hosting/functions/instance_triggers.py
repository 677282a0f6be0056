"""The HTTP triggers of workflows by the names of agent-framework-azurefunctions (docs/workflows.md)."""

from __future__ import annotations

from dataclasses import replace

from hosting.errors import HostingError, UnknownThreadError
from hosting.functions.answering import HttpRequest, Served, serves
from hosting.http import instances
from hosting.http.replies import Reply
from hosting.http.route import Route
from hosting.request.contents import limits_of
from hosting.request.instance_call import parse_instance
from hosting.request.parameters import MOST
from hosting.service.services import Services
from hosting.settings import Settings


def register_instances(served: Served, services: Services, settings: Settings, single: str | None) -> None:
    """Register the routes with a workflow's name, and those without it for the `single` one of an app."""
    _register(served, services, settings, instances.INSTANCE_ROUTES, None)
    if single is not None:
        _register(served, services, settings, instances.SINGLE_ROUTES, single)


def _register(
    served: Served, services: Services, settings: Settings, routes: tuple[Route, ...], single: str | None
) -> None:
    runs, threads = services.runs, services.threads
    run_route, status_route = routes

    @serves(served, run_route, single)
    async def start(request: HttpRequest) -> Reply:
        workflow = request.agent
        limits = limits_of(workflow.agent, settings)
        wanted = await request.parsed(lambda raw: parse_instance(raw, workflow.name, limits, request.caller.owner))
        try:
            started = await runs.start(workflow.name, wanted, request.client, request.caller)
            run = await runs.wait_as(wanted.wait, started.run, request.client)
        except HostingError as error:
            error.thread_id = wanted.thread_id
            raise
        reply = instances.started_reply(run, request.base_url, "" if single else f"{workflow.name}/")
        return replace(reply, headers={**reply.headers, "idempotency-replayed": "true"}) if started.replayed else reply

    @serves(served, status_route, single)
    async def read(request: HttpRequest) -> Reply:
        found = await threads.runs(request.address, MOST, request.client)
        if not found:
            raise UnknownThreadError(f"There is no instance {request.thread_id!r} of workflow {request.agent.name!r}.")
        newest = await runs.find(request.address, found[0].run_id, request.client)
        return instances.instance_reply([newest, *found[1:]])
