"""A person approves what an agent wrote, within 72 hours."""

import json
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
    is_approved = json.loads(approval.result) == "yes"  # the SDK's client sends a value as JSON text
    return f"Published: {draft.text}" if is_approved else "Rejected."


@app.route(route="articles/{id}", methods=["POST"])
@app.durable_client_input(client_name="client")
async def start(req: func.HttpRequest, client: df.DurableOrchestrationClient) -> func.HttpResponse:
    """Have an article written under an id of the caller's."""
    instance_id = await client.start_new("publish", req.route_params["id"], req.get_body().decode())
    return func.HttpResponse(f"{instance_id} is being written.\n", status_code=202)


@app.route(route="articles/{id}", methods=["GET"])
@app.durable_client_input(client_name="client")
async def show(req: func.HttpRequest, client: df.DurableOrchestrationClient) -> func.HttpResponse:
    """Show the draft that waits for its approval, or how the wait ended."""
    status = await client.get_status(req.route_params["id"])
    shown = status.output or status.custom_status
    return func.HttpResponse(f"{shown or 'Not written yet.'}\n", status_code=200 if shown else 202)


@app.route(route="articles/{id}/approval", methods=["POST"])
@app.durable_client_input(client_name="client")
async def approve(req: func.HttpRequest, client: df.DurableOrchestrationClient) -> func.HttpResponse:
    """Hand the person's answer, `yes` or anything else, to the orchestration that waits for it."""
    await client.raise_event(req.route_params["id"], "Approval", req.get_body().decode())
    return func.HttpResponse("Thank you.\n", status_code=202)
