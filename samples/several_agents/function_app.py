"""Several agents in one app: each with its own conversations, one of them not reached over HTTP."""

import os

from agent_framework import Agent

from agents.assistant import get_weather
from agents.models import create_chat_client
from hosting.app import AgentFunctionApp

client = create_chat_client(os.environ)

guide = Agent(client=client, name="guide", description="Knows the weather.", tools=[get_weather])
writer = Agent(client=client, name="writer", description="Writes.", instructions="Write one sentence.")
auditor = Agent(client=client, name="auditor", description="For this app's own orchestrations.")

app = AgentFunctionApp(agents=[guide, writer])
app.add_agent(auditor, enable_http_endpoint=False)
