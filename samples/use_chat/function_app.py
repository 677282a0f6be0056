"""An agent for a page made with the AI SDK's `useChat`, which asks the page's person before it sends a postcard."""

import os

from agent_framework import Agent, tool

from agents.assistant import get_weather
from agents.models import create_chat_client
from hosting.app import AgentFunctionApp


@tool(approval_mode="always_require")
def send_postcard(to: str, text: str) -> str:
    """Send a postcard."""
    return f"On its way to {to}: {text}"


guide = Agent(client=create_chat_client(os.environ), name="guide", tools=[get_weather, send_postcard])

app = AgentFunctionApp(agents=[guide], wires=["ai-sdk"])
