"""The HTTP triggers of approvals: what a thread waits for, and the answer to one of them (http-api.md section 3)."""

from __future__ import annotations

import azure.durable_functions as df

from hosting.functions.answering import Asked, parsed, register_route
from hosting.plan import Plan
from hosting.reply.approval_replies import answered_reply, approvals_reply
from hosting.reply.routes import ANSWER_APPROVAL, APPROVALS
from hosting.reply.run_replies import Reply, Streamed, run_reply
from hosting.request.decision_requests import parse_decision
from hosting.services import Services
from hosting.settings import Settings


def register_approvals(app: df.DFApp, plan: Plan, services: Services, settings: Settings) -> None:
    """Register both routes, for all agents' threads."""
    approvals, runs = services.approvals, services.runs

    async def waiting(asked: Asked) -> Reply:
        agent, thread_id = asked.agent(plan), asked.thread_id
        return approvals_reply(thread_id, await approvals.paused(agent.name, thread_id, asked.client))

    async def answer(asked: Asked) -> Reply | Streamed:
        agent, thread_id, call = asked.agent(plan), asked.thread_id, await asked.call()
        most_bytes = settings.max_body_bytes
        wanted = await parsed(call, lambda: parse_decision(call, asked.approval_id, most_bytes))
        streams_it = wanted.wait.answer and wanted.form == "events"
        recorded = await approvals.answer(agent.name, thread_id, wanted.decision, asked.client, streamed=streams_it)
        if recorded.resumed is None:
            return answered_reply(recorded.asked, wanted.decision, wanted.form)
        if streams_it:
            return services.streams.reply(recorded.resumed, asked.client, call.base_url)
        record = await runs.wait_as(wanted.wait, recorded.resumed, asked.client)
        return run_reply(record, wanted.form, call.base_url, wanted.wait.headers)

    register_route(app, APPROVALS, waiting)
    register_route(app, ANSWER_APPROVAL, answer)
