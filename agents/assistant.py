"""The agent `assistant` and its tool: the file to change first."""

from dataclasses import dataclass
from hashlib import sha256
from typing import Annotated

from agent_framework import Agent, tool

from agents.models import ChatClient
from hosting.tools import idempotent

INSTRUCTIONS = """\
You are a friendly assistant. Answer in one or two sentences.
Use the tool get_weather for any question about the weather, and never guess it.
"""


@dataclass(frozen=True)
class Weather:
    """The weather of one place; the temperature in degrees Celsius."""

    sky: str
    celsius: int

    def __str__(self) -> str:
        return f"{self.sky}, {self.celsius} °C"


KNOWN = {
    "amsterdam": Weather("rainy", 12),
    "cairo": Weather("sunny", 34),
    "lisbon": Weather("sunny", 24),
    "london": Weather("cloudy", 14),
    "new york": Weather("windy", 17),
    "paris": Weather("partly cloudy", 18),
    "reykjavik": Weather("snowy", -2),
    "rome": Weather("sunny", 26),
    "seattle": Weather("rainy", 11),
    "tokyo": Weather("clear", 21),
}
SKIES = ("sunny", "partly cloudy", "cloudy", "rainy", "windy")


@idempotent  # looking again does no harm: docs/explanation/why-it-is-safe.md
@tool
def get_weather(city: Annotated[str, "The city's name, such as Paris"]) -> str:
    """Tell the weather in a city: the sky and the temperature in degrees Celsius."""
    return str(KNOWN.get(city.strip().lower()) or imagined_weather(city))


def imagined_weather(city: str) -> Weather:
    """The same made-up weather for the same city name, whatever its letter case: there is no network here."""
    digest = sha256(city.strip().lower().encode()).digest()
    return Weather(sky=SKIES[digest[0] % len(SKIES)], celsius=5 + digest[1] % 25)


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
