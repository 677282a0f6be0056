"""The HTTP triggers of runs: `http-<agent>` starts them, shared functions read and cancel them."""

from __future__ import annotations

from dataclasses import replace

import azure.durable_functions as df
from azurefunctions.extensions.http.fastapi import Request, Response

from hosting.errors import MethodNotAllowedError, about_thread
from hosting.functions.answering import Asked, answer, named_agent, parsed, register_route
from hosting.names import http_function
from hosting.plan import AgentPlan, Plan
from hosting.reply.routes import CANCEL, EVENTS, EVENTS_TAIL, RUN, STATUS
from hosting.reply.run_replies import Reply, Streamed, cancel_reply, run_headers, run_reply, status_reply
from hosting.request.limits import limits_of
from hosting.request.pages import IF_NONE_MATCH, read_position
from hosting.request.run_call import parse_run
from hosting.request.stream_query import read_stream_query
from hosting.services import Services
from hosting.settings import Settings

NO_AGENT_FUNCTION = "http_unknown_agent"


def register_agent(app: df.DFApp, plan: AgentPlan, services: Services, settings: Settings) -> None:
    """Register `POST agents/<name>/run` of one agent as the function `http-<name>`."""

    async def start(asked: Asked) -> Reply | Streamed:
        return await start_run(asked, plan, services, settings)

    route = replace(RUN, function=http_function(plan.name))
    register_route(app, route, start, path=f"agents/{plan.name}/run")


def register_runs(app: df.DFApp, plan: Plan, services: Services) -> None:
    """Register the run's status, event and cancel routes, and the answer to `run` routes that no agent has."""
    runs, streams, reads = services.runs, services.streams, services.reads

    async def read(asked: Asked) -> Reply:
        agent = asked.agent(plan)
        record = await runs.find(agent.name, asked.thread_id, asked.run_id, asked.client)
        return status_reply(record, asked.base_url)

    async def follow(asked: Asked) -> Reply | Streamed:
        wanted = read_stream_query(asked.query)
        after = read_position(asked.query, asked.request.headers)
        record = await runs.find(asked.agent(plan).name, asked.thread_id, asked.run_id, asked.client)
        if wanted is not None:
            return await reads.reply(record, asked.client, wanted, asked.request.headers.get(IF_NONE_MATCH.name, ""))
        if record.terminal is not None and after >= record.told:
            return Reply(204, "", None, run_headers(record))
        return streams.reply(record, asked.client, asked.base_url, after)

    async def tail(asked: Asked) -> Reply:
        record = await runs.find(asked.agent(plan).name, asked.thread_id, asked.run_id, asked.client)
        return reads.tail(record)

    async def cancel(asked: Asked) -> Reply:
        agent = asked.agent(plan)
        return cancel_reply(await runs.cancel(agent.name, asked.thread_id, asked.run_id, asked.client))

    async def no_such_run_route(req: Request) -> Response:
        return await answer(req, lambda: refuse_run_route(req, plan))

    register_route(app, STATUS, read)
    register_route(app, EVENTS, follow)
    register_route(app, EVENTS_TAIL, tail)
    register_route(app, CANCEL, cancel)
    app.function_name(NO_AGENT_FUNCTION)(app.route(route=RUN.path)(no_such_run_route))


async def start_run(asked: Asked, plan: AgentPlan, services: Services, settings: Settings) -> Reply | Streamed:
    """Answer `POST agents/<agent>/run` (http-api.md section 2)."""
    call = await asked.call()
    wanted = await parsed(call, lambda: parse_run(call, plan.name, limits_of(plan.agent, settings)))
    with about_thread(wanted.thread_id):
        attached = await services.runs.start(plan.name, wanted, asked.client)
    record = attached.record
    extra = {**({"Idempotency-Replayed": "true"} if attached.replayed else {}), **wanted.wait.headers}
    if wanted.wait.answer and wanted.form == "events":
        streamed = services.streams.reply(record, asked.client, call.base_url)
        return replace(streamed, headers={**streamed.headers, **extra})
    with about_thread(record.accepted.thread_id):
        record = await services.runs.wait_as(wanted.wait, record, asked.client)
    return run_reply(record, wanted.form, call.base_url, extra)


async def refuse_run_route(req: Request, plan: Plan) -> Reply:
    """Answer a `run` route that no agent serves: 405 for another verb than POST, else 404."""
    agent = named_agent(req, plan)
    raise MethodNotAllowedError(f"{req.method} is not served here. Send POST agents/{agent.name}/run.")
