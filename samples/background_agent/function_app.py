"""A planner that starts tasks on another agent, goes on, and reads their results later."""

import os

from agent_framework import Agent, BackgroundAgentsProvider

from agents.models import create_chat_client
from hosting.app import AgentFunctionApp

client = create_chat_client(os.environ)
researcher = Agent(client=client, name="researcher", description="Finds things out.")
planner = Agent(
    client=client,
    name="planner",
    description="Plans a journey, and has others find things out.",
    instructions="Help to plan a journey. Answer in one sentence.",
    context_providers=[BackgroundAgentsProvider([researcher])],
)

app = AgentFunctionApp(agents=[planner])
