"""An agent as agent-framework builds its harness agents, with todos, modes and files: nothing of it is changed."""

import os

from agent_framework import create_harness_agent

from agents.models import create_chat_client
from hosting.app import AgentFunctionApp

planner = create_harness_agent(
    create_chat_client(os.environ),
    name="planner",
    description="Plans a journey, and keeps notes.",
    agent_instructions="Help to plan a journey. Answer in one sentence.",
    disable_web_search=True,
)

app = AgentFunctionApp(agents=[planner])
