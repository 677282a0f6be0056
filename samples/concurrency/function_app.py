"""Several runs at once, and one answer made of theirs."""

import os
from collections.abc import Generator
from typing import Any

import azure.durable_functions as df
import azure.functions as func
from agent_framework import Agent

from agents.assistant import get_weather
from agents.models import create_chat_client
from hosting.app import AgentFunctionApp

Steps = Generator[Any, Any, Any]

guide = Agent(client=create_chat_client(os.environ), name="guide", tools=[get_weather])

app = AgentFunctionApp(agents=[guide])


@app.orchestration_trigger(context_name="context")
def compare(context: df.DurableOrchestrationContext) -> Steps:
    """Ask about each city in a conversation of its own, all at the same time."""
    agent = app.get_agent(context, "guide")
    cities = context.get_input()
    answers = yield context.task_all([agent.run(f"What is the weather in {city}?") for city in cities])
    return {city: answer.text for city, answer in zip(cities, answers, strict=True)}


@app.route(route="comparisons", methods=["POST"])
@app.durable_client_input(client_name="client")
async def start(req: func.HttpRequest, client: df.DurableOrchestrationClient) -> func.HttpResponse:
    """Answer with the comparison, or after 10 s with where to ask for it."""
    return await app.run_orchestration(req, client, "compare", req.get_json(), wait_seconds=10)


app.orchestration_status_route()
