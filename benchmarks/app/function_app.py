"""The app that is measured: the template's own agent with the offline model, one of a known time, two that
take steps, a workflow, and an empty route."""

import os

import azure.functions as func
from azurefunctions.extensions.http.fastapi import Request, Response

from agents.assistant import create_assistant
from benchmarks.app.counting_workflow import counting_workflow
from benchmarks.app.stepping_model import stepping_agents
from benchmarks.app.timed_model import timed_agent
from hosting.app import AgentFunctionApp
from hosting.offline.model import OfflineChatClient


async def empty(req: Request) -> Response:
    """Answer with nothing: what is left is the host's own time, by which the other figures are read."""
    return Response()


model = OfflineChatClient()
model.WORD_SECONDS = 0  # the figures are the app's own time
agents = [create_assistant(model), timed_agent(), *stepping_agents()]
app = AgentFunctionApp(agents=agents, workflow=counting_workflow, wires=os.environ.get("WIRES", "").split())
app.function_name("empty")(app.route(route="empty", methods=["GET"], auth_level=func.AuthLevel.ANONYMOUS)(empty))
