"""One agent with a tool, and a conversation that lasts."""

import os

from agent_framework import Agent

from agents.assistant import get_weather
from agents.models import create_chat_client
from hosting.app import AgentFunctionApp

guide = Agent(
    client=create_chat_client(os.environ),
    name="guide",
    description="Knows the weather.",
    instructions="Answer in one sentence. Use get_weather for the weather, and never guess it.",
    tools=[get_weather],
)

app = AgentFunctionApp(agents=[guide])
