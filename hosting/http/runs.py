"""The routes of runs: how a request that began a run is answered, and how a run is read, followed and cancelled."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from hosting.core.request.contents import Limits
from hosting.core.services import Services
from hosting.core.thread.rows import ApprovalRow
from hosting.core.thread.run import Ended, Run
from hosting.core.thread_operations import PACE
from hosting.errors import HostingError
from hosting.http import routes
from hosting.http.model_call import first_position, model_call
from hosting.http.parameters import IF_NONE_MATCH, MODEL_CALL_ID, read_resume_position, read_stream_query
from hosting.http.replies import (
    Reply,
    Streamed,
    cancel_reply,
    json_reply,
    run_headers,
    run_reply,
    run_url,
    status_reply,
    timeline_reply,
)
from hosting.http.request import Bound, HttpRequest
from hosting.http.run_call import Wanted, one_thread_id, parse_run
from hosting.http.streams import Streams
from hosting.plan import AgentPlan


def own_day_of(request: HttpRequest) -> str | None:
    """Return the owner whose day with an agent the caller may read: their own, not that of a shared thread."""
    return request.caller.owner if request.shared is None else None


class Starting:
    """Starts runs, and answers requests that began one."""

    def __init__(self, services: Services) -> None:
        self._runs, self._hooks = services.runs, services.hooks
        self._streams = streams_of(services)

    async def reply(self, request: HttpRequest, agent: AgentPlan, limits: Limits) -> Reply | Streamed:
        """Start the run, on the thread that is shared if there is one, and answer as its caller wants it."""
        call = await request.parsed(
            lambda raw: parse_run(raw, agent.name, limits, request.caller.owner, agent.options.busy)
        )
        start = call.start
        if request.shared is not None:
            start = replace(start, thread_id=one_thread_id([request.thread_id, start.thread_id or ""]))
        thread_id = start.thread_id
        try:
            started = await self._runs.start(agent.name, start, request.caller)
            thread_id = started.run.address.thread_id
            headers = {"Idempotency-Replayed": "true"} if started.replayed else {}
            return await self.answer(request, agent, started.run, call.wanted, headers)
        except HostingError as error:
            error.thread_id = thread_id
            if error.run_id is not None and thread_id is not None:
                error.run_url = run_url(error.run_id, request.thread_url(agent, thread_id))
            raise

    async def answer(
        self, request: HttpRequest, agent: AgentPlan, run: Run, wanted: Wanted, headers: Mapping[str, str] | None = None
    ) -> Reply | Streamed:
        """Return the answer that the caller wants of a run that has begun: its events, its end, or where to find it."""
        headers = {**(headers or {}), **wanted.headers}
        url = request.thread_url(agent, run.address.thread_id)
        if wanted.form == "events":
            streamed = self._streams.reply(run, request.caller.client, url)
            return replace(streamed, headers={**streamed.headers, **headers})
        begun, run = run.run_id, await self._runs.wait_as(wanted.wait, run, request.caller.client)
        budget = None
        if (balance := self._hooks[run.address.agent].balance) is not None and wanted.form != "text":
            budget = await balance.of_answer(run, own_day_of(request))
        return run_reply(run, wanted.form, url, headers, budget, is_joined=run.run_id != begun)


class RunHandlers:
    """The handlers of the routes of one run."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._runs = services.runs
        self._streams = streams_of(services)

    def bound(self) -> Sequence[Bound]:
        """Return the routes with their handlers."""
        return (
            Bound(routes.STATUS, self._read),
            Bound(routes.TIMELINE, self._timeline),
            Bound(routes.STEP, self._model_call),
            Bound(routes.EVENTS, self._follow),
            Bound(routes.EVENTS_TAIL, self._tail),
            Bound(routes.CANCEL, self._cancel),
        )

    async def _run(self, request: HttpRequest) -> Run:
        return await self._runs.find(request.address, request.run_id, request.caller.client)

    async def _read(self, request: HttpRequest) -> Reply:
        run = await self._run(request)
        url = request.thread_url(request.agent, request.thread_id)
        balance = self._services.hooks[run.address.agent].balance
        budget = None if balance is None else await balance.of_run(run)
        return status_reply(run, url, budget, self._takeover_seconds(run))

    def _takeover_seconds(self, run: Run) -> float | None:
        """Return when a run that is held is taken over at the latest, if its holder is gone: from now on."""
        if run.claim is None:
            return None
        return run.claim.lease_seconds + self._services.margin_seconds + PACE.longest

    async def _timeline(self, request: HttpRequest) -> Reply:
        run = await self._run(request)
        events = await self._services.log.events(request.address, run.first - 1, through=run.last)
        held = self._services.holders.held.get(run.run_id)
        superstep, notifies = None if held is None else held.superstep, request.agent.options.webhook is not None
        causes = self._services.loop.names_causes
        before = await self._run_before(run)
        return timeline_reply(run, events, superstep, continues=before, notifies=notifies, names_causes=causes)

    async def _model_call(self, request: HttpRequest) -> Reply:
        address, call_id = request.address, request.query.get(MODEL_CALL_ID.name, "")
        run = await self._run(request)
        async with self._services.large_reads.turn(address.owner):
            view = await self._services.threads.view(address, request.caller.client)
            before = first_position(view.conversation, run)
            thread_url = request.thread_url(request.agent, request.thread_id)
            url = None if before is None else f"{thread_url}/messages?before={before}"
            body = await asyncio.to_thread(model_call, run, call_id, url, request.agent)
        return json_reply(200, body, run_headers(run))

    async def _run_before(self, run: Run) -> str | None:
        """Return the run that asked for the decisions with which this run began, None if it began with a message."""
        if not (decisions := run.accepted.request.decisions):
            return None
        log, address = self._services.log, run.address
        row = await log.row(address, ApprovalRow, decisions[0].id, await log.head(address))
        return row.asked_by if isinstance(row, ApprovalRow) else None

    async def _follow(self, request: HttpRequest) -> Reply | Streamed:
        wanted = read_stream_query(request.query)
        after = read_resume_position(request.query, request.headers)
        run = await self._run(request)
        if wanted is not None:
            return await self._streams.read(
                run, request.caller.client, wanted, request.headers.get(IF_NONE_MATCH.name, "")
            )
        if isinstance(run.state, Ended) and after >= run.state.position:
            return Reply(204, "", None, run_headers(run))
        url = request.thread_url(request.agent, request.thread_id)
        return self._streams.reply(run, request.caller.client, url, after)

    async def _tail(self, request: HttpRequest) -> Reply:
        return self._streams.tail(await self._run(request))

    async def _cancel(self, request: HttpRequest) -> Reply:
        return cancel_reply(await self._runs.cancel(request.address, request.run_id, request.caller.client))


def streams_of(services: Services) -> Streams:
    """Return the streams of runs; on the developer's machine they have the tools' exceptions."""
    return Streams(services.following, services.clocks.wall, names_causes=services.loop.names_causes)
