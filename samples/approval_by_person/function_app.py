"""A person approves what an agent wrote, within 72 hours."""

import os
from collections.abc import Generator
from datetime import timedelta
from typing import Any

import azure.durable_functions as df
import azure.functions as func
from agent_framework import Agent

from agents.models import create_chat_client
from hosting.app import AgentFunctionApp

Steps = Generator[Any, Any, Any]
State = df.OrchestrationRuntimeStatus

writer = Agent(client=create_chat_client(os.environ), name="writer", instructions="Write one sentence.")

app = AgentFunctionApp(agents=[writer])


@app.orchestration_trigger(context_name="context")
def publish(context: df.DurableOrchestrationContext) -> Steps:
    """Return what is published, or why nothing is."""
    draft = yield app.get_agent(context, "writer").run(f"Write about {context.get_input()}.")
    context.set_custom_status(f"Waits for approval: {draft.text}")
    approval = context.wait_for_external_event("Approval")
    deadline = context.create_timer(context.current_utc_datetime + timedelta(hours=72))
    first = yield context.task_any([approval, deadline])
    if first is deadline:
        return "Nobody answered within 72 hours."
    deadline.cancel()  # an orchestration ends only when no timer of it is open
    is_approved = (
        str(approval.result).strip('"') == "yes"
    )  # the SDK's client quotes a text, the management URL does not
    return f"Published: {draft.text}" if is_approved else "Rejected."


@app.route(route="articles/{id}", methods=["POST"])
@app.durable_client_input(client_name="client")
async def start(req: func.HttpRequest, client: df.DurableOrchestrationClient) -> func.HttpResponse:
    """Have an article written under an id of the caller's, unless one is being written under it."""
    article = req.route_params["id"]
    if is_open((await client.get_status(article)).runtime_status):
        return say(409, f"{article} is being written already. Take another name, or wait for its end.")
    await client.start_new("publish", article, req.get_body().decode())
    return say(202, f"{article} is being written.")


@app.route(route="articles/{id}", methods=["GET"])
@app.durable_client_input(client_name="client")
async def show(req: func.HttpRequest, client: df.DurableOrchestrationClient) -> func.HttpResponse:
    """Show the draft that waits for its approval, or how the wait ended."""
    article = req.route_params["id"]
    status = await client.get_status(article)
    if status.runtime_status is None:
        return say(404, f"There is no article {article}.")
    if is_open(status.runtime_status):
        return say(200, status.custom_status) if status.custom_status else say(202, "Not written yet.")
    if status.runtime_status is not State.Completed:
        return say(500, f"{article} was not written: {status.runtime_status.value}.")
    return say(200, status.output)


@app.route(route="articles/{id}/approval", methods=["POST"])
@app.durable_client_input(client_name="client")
async def approve(req: func.HttpRequest, client: df.DurableOrchestrationClient) -> func.HttpResponse:
    """Hand the person's answer, `yes` or anything else, to the orchestration that waits for it."""
    article = req.route_params["id"]
    status = await client.get_status(article)
    if status.runtime_status is None:
        return say(404, f"There is no article {article}.")
    if not is_open(status.runtime_status):
        return say(409, f"{article} waits for no answer any more.")
    await client.raise_event(article, "Approval", req.get_body().decode())
    return say(202, "Thank you.")


def is_open(state: df.OrchestrationRuntimeStatus | None) -> bool:
    """Tell whether an orchestration in this state exists and has not ended."""
    return state in (State.Pending, State.Running, State.Suspended, State.ContinuedAsNew)


def say(status_code: int, sentence: str) -> func.HttpResponse:
    """Answer with one line."""
    return func.HttpResponse(f"{sentence}\n", status_code=status_code)
