"""The HTTP triggers of workflows by the names of agent-framework-azurefunctions (docs/guides/workflows.md)."""

from __future__ import annotations

from dataclasses import replace

from hosting.core.request.contents import limits_of
from hosting.core.services import Services
from hosting.core.thread.run_request import Answering
from hosting.errors import HostingError, UnknownThreadError
from hosting.functions.answering import Served, serves
from hosting.http import instances
from hosting.http.instance_call import decision_of, parse_answer, parse_instance
from hosting.http.parameters import MOST
from hosting.http.replies import Reply
from hosting.http.request import HttpRequest
from hosting.settings import Settings


def register_instances(served: Served, services: Services, settings: Settings) -> None:
    """Register the routes of workflows, with a workflow's name and without it for the only one of an app."""
    runs, threads, approvals = services.runs, services.threads, services.approvals

    @serves(served, instances.INSTANCE_RUN)
    async def start(request: HttpRequest) -> Reply:
        workflow = request.agent
        limits = limits_of(workflow, settings)
        wanted = await request.parsed(lambda raw: parse_instance(raw, workflow.name, limits, request.caller.owner))
        try:
            started = await runs.start(workflow.name, wanted, request.client, request.caller)
            run = await runs.wait_as(wanted.wait, started.run, request.client)
        except HostingError as error:
            error.thread_id = wanted.thread_id
            raise
        reply = instances.started_reply(run, request.base_url, "" if request.route.agent else f"{workflow.name}/")
        return replace(reply, headers={**reply.headers, "idempotency-replayed": "true"}) if started.replayed else reply

    @serves(served, instances.INSTANCE_STATUS)
    async def read(request: HttpRequest) -> Reply:
        found = await threads.runs(request.address, MOST, request.client)
        if not found:
            raise UnknownThreadError(f"There is no instance {request.thread_id!r} of workflow {request.agent.name!r}.")
        newest = await runs.find(request.address, found[0].run_id, request.client)
        paused = await approvals.waiting(request.address)
        return instances.instance_reply(
            [newest, *found[1:]],
            request.base_url,
            "" if request.route.agent else f"{request.agent.name}/",
            is_waiting=paused is not None and paused.run_id == newest.run_id,
        )

    @serves(served, instances.INSTANCE_RESPOND)
    async def respond(request: HttpRequest) -> Reply:
        value = await request.parsed(lambda raw: parse_answer(raw, settings.max_body_bytes))
        paused = await approvals.waiting(request.address)
        decision = decision_of(request.approval_id, value, () if paused is None else paused.undecided)
        answer = Answering(decision, request.caller, waits=False)
        recorded = await approvals.answer(request.address, answer, request.client)
        return instances.responded_reply(recorded.requested, request.approval_id)
