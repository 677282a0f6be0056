"""An agent decides by a value of a type, and code goes the way that it names."""

import os
from collections.abc import Generator
from typing import Any, Literal

import azure.durable_functions as df
import azure.functions as func
from agent_framework import Agent
from pydantic import BaseModel

from agents.models import create_chat_client
from hosting.app import AgentFunctionApp

Steps = Generator[Any, Any, Any]

client = create_chat_client(os.environ)
sorter = Agent(client=client, name="sorter", instructions="Say what kind of mail this is.")
writer = Agent(client=client, name="writer", instructions="Write one sentence.")

app = AgentFunctionApp(agents=[sorter, writer])


class Sorted(BaseModel):
    """What the sorter must answer with."""

    kind: Literal["order", "complaint", "spam"]


@app.orchestration_trigger(context_name="context")
def answer_mail(context: df.DurableOrchestrationContext) -> Steps:
    """Return the reply to a mail; spam gets none."""
    judged = yield app.get_agent(context, "sorter").run(context.get_input(), response_format=Sorted)
    kind = judged.value.kind
    if kind == "spam":
        return {"kind": kind, "reply": None}
    reply = yield app.get_agent(context, "writer").run(f"Write an answer for this {kind}.")
    return {"kind": kind, "reply": reply.text}


@app.route(route="mails", methods=["POST"])
@app.durable_client_input(client_name="client")
async def start(req: func.HttpRequest, client: df.DurableOrchestrationClient) -> func.HttpResponse:
    """Answer with the reply, or after 10 s with where to ask for it."""
    return await app.run_orchestration(req, client, "answer_mail", req.get_body().decode(), wait_seconds=10)


app.orchestration_status_route()
