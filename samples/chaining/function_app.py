"""One agent's answer is the next question, in one conversation."""

import os
from collections.abc import Generator
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
def slogan(context: df.DurableOrchestrationContext) -> Steps:
    """Return a draft and what became of it."""
    agent = app.get_agent(context, "writer")
    session = agent.create_session()
    draft = yield agent.run(f"Write a slogan for {context.get_input()}.", session=session)
    final = yield agent.run(f"Shorten this: {draft.text}", session=session)
    return {"draft": draft.text, "final": final.text}


@app.route(route="slogans", methods=["POST"])
@app.durable_client_input(client_name="client")
async def start(req: func.HttpRequest, client: df.DurableOrchestrationClient) -> func.HttpResponse:
    """Answer with the slogan, or after 10 s with where to ask for it."""
    return await app.run_orchestration(req, client, "slogan", req.get_body().decode(), wait_seconds=10)


app.orchestration_status_route()
