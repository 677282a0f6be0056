"""Agents as tools of an MCP server."""

import os

from agent_framework import Agent

from agents.assistant import get_weather
from agents.models import create_chat_client
from hosting.app import AgentFunctionApp

client = create_chat_client(os.environ)

guide = Agent(client=client, name="guide", description="Tells the weather in any city.", tools=[get_weather])
writer = Agent(client=client, name="writer", instructions="Write one sentence.")

app = AgentFunctionApp(agents=[guide], enable_mcp_tool_trigger=True, enable_http_endpoints=False)
app.add_agent(writer, mcp_tool_name="write_sentence", mcp_tool_description="Writes one sentence about anything.")
