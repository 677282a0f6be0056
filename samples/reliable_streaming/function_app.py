"""An agent whose answers are streamed, and streamed on where a reader left off."""

import os

from agent_framework import Agent

from agents.assistant import get_weather
from agents.models import create_chat_client
from hosting.app import AgentFunctionApp

guide = Agent(client=create_chat_client(os.environ), name="guide", tools=[get_weather])

app = AgentFunctionApp(agents=[guide])
