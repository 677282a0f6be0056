"""The HTTP triggers: `http-<agent>` starts runs, all other routes are shared by agents.

Each handler parses its request, calls one verb of the service, and replies; what it raises becomes a problem in
`answering`.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from functools import partial

from hosting.core.budgeting import budget_of_run
from hosting.core.hooks import ThreadQuery
from hosting.core.request.contents import Limits, limits_of
from hosting.core.runs import SHORT_WAIT_SECONDS
from hosting.core.services import Services
from hosting.core.thread.run import Ended
from hosting.core.thread.run_request import Answering
from hosting.core.threads import ThreadExport
from hosting.errors import ForkRefusedError, HostingError
from hosting.functions.answering import Served, serves
from hosting.http import routes, workflow_routes
from hosting.http.bodies import AgentBudget, Export
from hosting.http.exports import Exports
from hosting.http.fork_call import parse_fork
from hosting.http.lists import agents_reply, newest_reply, threads_reply, workflows_reply
from hosting.http.parameters import (
    IF_NONE_MATCH,
    SEARCH,
    SORT,
    read_cursor,
    read_limit,
    read_resume_position,
    read_stream_query,
    read_window,
)
from hosting.http.replies import (
    Reply,
    Streamed,
    answered_reply,
    approvals_reply,
    cancel_reply,
    json_reply,
    run_headers,
    run_reply,
    run_url,
    runs_reply,
    status_reply,
    thread_headers,
    timeline_reply,
)
from hosting.http.request import HttpRequest
from hosting.http.run_call import DECISION, WORKFLOW_ANSWER, one_thread_id, parse_decision, parse_run
from hosting.http.streams import Streams
from hosting.http.thread_replies import (
    deleting_reply,
    done_reply,
    erasure_fields,
    export_fields,
    fork_reply,
    messages_reply,
    thread_reply,
)
from hosting.names import Address
from hosting.plan import AgentPlan
from hosting.principal import Caller
from hosting.settings import Settings


def _streams(services: Services) -> Streams:
    """Return the streams of runs; on the developer's machine they have the tools' exceptions."""
    return Streams(services.following, names_causes=services.loop.names_causes)


class Starting:
    """Answers requests that start a run."""

    def __init__(self, services: Services, settings: Settings) -> None:
        self._runs, self._budgets = services.runs, services.budgets
        self._streams = _streams(services)
        self._settings = settings

    async def reply(self, request: HttpRequest, agent: AgentPlan, limits: Limits) -> Reply | Streamed:
        """Start the run, on the thread that is shared if there is one, and answer as its caller wants it."""
        call = await request.parsed(lambda raw: parse_run(raw, agent.name, limits, request.caller.owner, agent.busy))
        start, wanted = call.start, call.wanted
        if request.shared is not None:
            start = replace(start, thread_id=one_thread_id([request.thread_id, start.thread_id or ""]))
        thread_id = start.thread_id
        try:
            started = await self._runs.start(agent.name, start, request.client, request.caller)
            run, thread_id = started.run, started.run.address.thread_id
            headers = {**({"Idempotency-Replayed": "true"} if started.replayed else {}), **wanted.headers}
            url = request.thread_url(agent.name, thread_id)
            if wanted.form == "events":
                streamed = self._streams.reply(run, request.client, url)
                return replace(streamed, headers={**streamed.headers, **headers})
            run = await self._runs.wait_as(wanted.wait, run, request.client)
        except HostingError as error:
            error.thread_id = thread_id
            if error.run_id is not None and thread_id is not None:
                error.run_url = run_url(error.run_id, request.thread_url(agent.name, thread_id))
            raise
        budget = None
        if agent.budget is not None and wanted.form != "text":
            budget = await self._budgets.of_answer(agent, run, own_day_of(request))
        return run_reply(run, wanted.form, url, headers, budget)


def own_day_of(request: HttpRequest) -> str | None:
    """Return the owner whose day with an agent the caller may read: their own, not that of a shared thread."""
    return request.caller.owner if request.shared is None else None


def register_agent(served: Served, agent: AgentPlan, services: Services, settings: Settings) -> None:
    """Register `POST agents/<name>/run` of one agent as the function `http-<name>`."""
    starting, limits = Starting(services, settings), limits_of(agent.agent, settings)
    route = routes.run_route if agent.workflow is None else workflow_routes.workflow_run_route
    serves(served, route(agent.name))(partial(starting.reply, agent=agent, limits=limits))


def register_runs(served: Served, services: Services) -> None:
    """Register the run's status, event and cancel routes."""
    runs, streams = services.runs, _streams(services)

    @serves(served, routes.STATUS)
    async def read(request: HttpRequest) -> Reply:
        run = await runs.find(request.address, request.run_id, request.client)
        url = request.thread_url(request.agent.name, request.thread_id)
        return status_reply(run, url, budget_of_run(request.agent, run))

    @serves(served, routes.TIMELINE)
    async def steps(request: HttpRequest) -> Reply:
        run = await runs.find(request.address, request.run_id, request.client)
        events = await services.log.events(request.address, run.first - 1, through=run.last)
        held = services.holders.held.get(run.run_id)
        superstep, notifies = None if held is None else held.superstep, request.agent.webhook is not None
        causes = services.loop.names_causes
        return timeline_reply(run, events, superstep, notifies=notifies, names_causes=causes)

    @serves(served, routes.EVENTS)
    async def follow(request: HttpRequest) -> Reply | Streamed:
        wanted = read_stream_query(request.query)
        after = read_resume_position(request.query, request.headers)
        run = await runs.find(request.address, request.run_id, request.client)
        if wanted is not None:
            return await streams.read(run, request.client, wanted, request.headers.get(IF_NONE_MATCH.name, ""))
        if isinstance(run.state, Ended) and after >= run.state.position:
            return Reply(204, "", None, run_headers(run))
        return streams.reply(run, request.client, request.thread_url(request.agent.name, request.thread_id), after)

    @serves(served, routes.EVENTS_TAIL)
    async def tail(request: HttpRequest) -> Reply:
        return streams.tail(await runs.find(request.address, request.run_id, request.client))

    @serves(served, routes.CANCEL)
    async def cancel(request: HttpRequest) -> Reply:
        run = await runs.cancel(request.address, request.run_id, request.client)
        return cancel_reply(run)


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

    @serves(served, routes.BUDGET)
    async def budget(request: HttpRequest) -> Reply:
        agent = request.agent
        body: AgentBudget = {
            "agent": agent.name,
            "budget": await services.budgets.of_owner(agent, request.caller.owner),
        }
        return json_reply(200, body)


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
        budget = await services.budgets.of_thread(request.agent, view.head, own_day_of(request))
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
    """Register the routes that reset, fork or delete a thread."""
    threads = services.threads

    @serves(served, routes.RESET)
    async def reset(request: HttpRequest) -> Reply:
        await threads.reset(request.address, request.client)
        return done_reply(request.thread_id)

    @serves(served, routes.FORK)
    async def fork(request: HttpRequest) -> Reply:
        agent, owner = request.agent, request.caller.owner
        if agent.workflow is not None:
            raise ForkRefusedError("Threads of workflows cannot be forked: each run starts anew. Use a new thread.")
        wanted = await request.parsed(lambda raw: parse_fork(raw, agent.name, owner, settings.max_body_bytes))
        forked = await services.forking.fork(request.address, wanted, request.client)
        return fork_reply(agent.name, forked, request.thread_url(agent.name, forked.thread_id))

    @serves(served, routes.DELETE_THREAD)
    async def delete(request: HttpRequest) -> Reply:
        thread_id = request.thread_id
        is_done = await threads.delete(request.address, request.client, settings.wait_seconds)
        return done_reply(thread_id) if is_done else deleting_reply(thread_id)


def register_approvals(served: Served, services: Services, settings: Settings) -> None:
    """Register the routes of approvals, for all agents' threads."""
    approvals, runs, streams = services.approvals, services.runs, _streams(services)

    @serves(served, routes.APPROVALS)
    async def waiting(request: HttpRequest) -> Reply:
        run = await approvals.waiting(request.address)
        return approvals_reply(request.thread_id, run)

    @serves(served, routes.ANSWER_APPROVAL)
    async def decide(request: HttpRequest) -> Reply | Streamed:
        body = DECISION if request.agent.workflow is None else WORKFLOW_ANSWER
        most_bytes = settings.max_body_bytes
        call = await request.parsed(lambda raw: parse_decision(raw, request.approval_id, most_bytes, body))
        url = request.thread_url(request.agent.name, request.thread_id)
        wanted = call.wanted
        waits = runs.wait_seconds(wanted.wait) > SHORT_WAIT_SECONDS
        answer = Answering(call.decision, request.caller, waits=waits, streamed=wanted.form == "events")
        recorded = await approvals.answer(request.address, answer, request.client)
        if recorded.resumed is None:
            return answered_reply(recorded.requested, call.decision, wanted.form, url)
        if wanted.form == "events":
            return streams.reply(recorded.resumed, request.client, url)
        run = await runs.wait_as(wanted.wait, recorded.resumed, request.client)
        budget = await services.budgets.of_answer(request.agent, run, own_day_of(request))
        return run_reply(run, wanted.form, url, wanted.headers, budget)
