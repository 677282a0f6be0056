"""The HTTP triggers: `http-<agent>` starts runs, all other routes are shared by agents.

Each handler parses its request, calls one verb of the service, and replies; what it raises becomes a problem in
`answering`.
"""

from __future__ import annotations

import asyncio
from functools import partial

from hosting.core.hooks import ThreadQuery
from hosting.core.request.contents import limits_of
from hosting.core.services import Services
from hosting.core.threads import ThreadExport
from hosting.functions.answering import Served, register_bound, serves
from hosting.http import routes, workflow_routes
from hosting.http.bodies import Export
from hosting.http.exports import Exports
from hosting.http.lists import agents_reply, newest_reply, threads_reply, workflows_reply
from hosting.http.parameters import (
    SEARCH,
    SORT,
    read_cursor,
    read_limit,
    read_window,
)
from hosting.http.replies import (
    Reply,
    Streamed,
    json_reply,
    runs_reply,
    thread_headers,
)
from hosting.http.request import HttpRequest
from hosting.http.runs import RunHandlers, Starting, own_day_of
from hosting.http.thread_replies import (
    deleting_reply,
    done_reply,
    erasure_fields,
    export_fields,
    messages_reply,
    thread_reply,
)
from hosting.names import Address
from hosting.plan import AgentPlan
from hosting.principal import Caller
from hosting.settings import Settings


def register_agent(served: Served, agent: AgentPlan, services: Services, settings: Settings) -> None:
    """Register `POST agents/<name>/run` of one agent as the function `http-<name>`."""
    starting, limits = Starting(services), limits_of(agent.agent, settings)
    route = routes.run_route if agent.workflow is None else workflow_routes.workflow_run_route
    serves(served, route(agent.name))(partial(starting.reply, agent=agent, limits=limits))


def register_runs(served: Served, services: Services) -> None:
    """Register the routes of one run."""
    register_bound(served, RunHandlers(services).bound())


def register_lists(served: Served, services: Services) -> None:
    """Register the lists of agents and of their threads, and the agents' budgets."""
    threads = services.threads

    @serves(served, routes.agents_route(served.link_names))
    async def agents(request: HttpRequest) -> Reply:
        administers = served.access.administers(request.caller.principal)
        plans = list(served.plan.agents.values())
        return agents_reply(plans, request.base_url, served.routes, served.links, administers=administers)

    if served.workflows:

        @serves(served, workflow_routes.workflows_route(served.link_names))
        async def workflows(request: HttpRequest) -> Reply:
            plans = list(served.plan.agents.values())
            return workflows_reply(plans, request.base_url, served.routes, served.links)

    @serves(served, routes.THREADS)
    async def page(request: HttpRequest) -> Reply:
        agent, limit, cursor = request.agent, read_limit(request.query), read_cursor(request.query)
        search = SEARCH.read(request.query)
        if SORT.read(request.query) or search is not None:
            wanted = ThreadQuery(limit, cursor, search or "")
            newest = await services.newest_threads(agent.name, request.caller.owner, wanted, request.client)
            return newest_reply(newest, services.clocks.wall())
        return threads_reply(await threads.page(agent.name, request.caller.owner, limit, cursor, request.client))


def exports_of(served: Served, services: Services) -> Exports:
    """Return the exports of the app; its callers take turns."""

    def fields_of(address: Address, export: ThreadExport, reader: Caller | None) -> Export:
        name = served.plan.names.get(address.agent, address.agent)
        return export_fields(name, export, services.clocks.wall(), reader)

    return Exports(services.threads, services.owners, services.large_reads, fields_of)


def register_threads(served: Served, services: Services, settings: Settings, exports: Exports) -> None:
    """Register the routes of one thread."""
    threads = services.threads

    @serves(served, routes.THREAD)
    async def read(request: HttpRequest) -> Reply:
        view = await threads.view(request.address, request.client)
        balance = services.hooks[view.address.agent].balance
        budget = None if balance is None else await balance.of_thread(view.head, own_day_of(request))
        return thread_reply(request.agent, view, threads.size_bytes(view), settings.state_limit_bytes, budget)

    @serves(served, routes.MESSAGES)
    async def messages(request: HttpRequest) -> Reply:
        address, window = request.address, read_window(request.query)
        async with services.large_reads.turn(address.owner):
            page = await threads.messages(address, window, request.client)
            return await asyncio.to_thread(messages_reply, request.thread_id, page)

    @serves(served, routes.RUNS)
    async def runs(request: HttpRequest) -> Reply:
        address, limit = request.address, read_limit(request.query)
        async with services.large_reads.turn(address.owner):
            return runs_reply(request.thread_id, await threads.runs(address, limit, request.client))

    @serves(served, routes.EXPORT)
    async def export(request: HttpRequest) -> Streamed:
        reader = None if request.shared is None else request.caller
        return await exports.thread(request.address, request.client, thread_headers(request.thread_id), reader)

    @serves(served, routes.ERASURE)
    async def erasure(request: HttpRequest) -> Reply:
        agent, thread_id = request.agent, request.thread_id
        receipt = await threads.receipt(request.address)
        return json_reply(200, erasure_fields(agent.name, request.address, receipt), thread_headers(thread_id))

    _register_changes(served, services, settings)


def _register_changes(served: Served, services: Services, settings: Settings) -> None:
    """Register the routes that reset or delete a thread."""
    threads = services.threads

    @serves(served, routes.RESET)
    async def reset(request: HttpRequest) -> Reply:
        await threads.reset(request.address, request.client)
        return done_reply(request.thread_id)

    @serves(served, routes.DELETE_THREAD)
    async def delete(request: HttpRequest) -> Reply:
        thread_id = request.thread_id
        is_done = await threads.delete(request.address, request.client, settings.wait_seconds)
        return done_reply(thread_id) if is_done else deleting_reply(thread_id)
