"""An agent's example: the first message that the start and the page propose."""

from typing import Any

import pytest
from agent_framework import Agent

from agents.assistant import create_assistant
from hosting.offline.model import OfflineChatClient
from tests.support.flows import text_flow
from tests.support.made_app import app_of, served

EVERY_AGENT_CAN = "What can you do?"

pytestmark = pytest.mark.behaviour("hosting.examples")


def agent_with(**properties: Any) -> Agent:
    return Agent(client=OfflineChatClient(), name="Joker", additional_properties=properties)


async def test_the_list_of_agents_has_the_example_of_each() -> None:
    """Of an agent that names none, a question that every agent can answer; of a workflow too."""
    app = app_of(create_assistant(OfflineChatClient()), agent_with(), workflow=text_flow)
    async with served(app) as (_, http):
        agents = (await http.get("/api/agents")).json()["agents"]
        workflows = (await http.get("/api/workflows")).json()["workflows"]

    assert [agent["example"] for agent in agents] == ["What is the weather in Paris?", EVERY_AGENT_CAN]
    assert [workflow["example"] for workflow in workflows] == [EVERY_AGENT_CAN]


def test_the_start_proposes_the_example_of_the_first_agent() -> None:
    app = app_of(create_assistant(OfflineChatClient()), agent_with())

    assert app.introduction["request"] == ("http-assistant", "What is the weather in Paris?")


@pytest.mark.parametrize(
    "example", ['Say "hi"', "Pay $5", "`date`", "a\\b", "Hi!", "%PATH%", "@file", "two\nlines", ""]
)
def test_an_example_that_a_shell_reads_otherwise_is_not_proposed_at_the_start(example: str) -> None:
    """In double quotes, on any system; nor one that curl takes for the name of a file."""
    assert app_of(agent_with(example=example)).introduction["request"] == ("http-Joker", EVERY_AGENT_CAN)
