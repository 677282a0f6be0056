"""The agent `assistant`: the one to change first."""

from agent_framework import Agent

from agents.models import ChatClient
from agents.tools import get_weather

INSTRUCTIONS = """\
You are a friendly assistant. Answer in one or two sentences.
Use the tool get_weather for any question about the weather, and never guess it.
"""


def create_assistant(client: ChatClient) -> Agent:
    """The agent as it is hosted; `client` is the model that it talks to (see models.py)."""
    return Agent(
        client=client,
        name="assistant",
        description="A friendly assistant that knows the weather.",
        instructions=INSTRUCTIONS,
        tools=[get_weather],
        additional_properties={"example": "What is the weather in Paris?"},  # the start and the page propose it
    )
