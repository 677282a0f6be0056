"""The options of an agent, and those of its app."""

from typing import Any

import pytest
from msgspec.structs import replace

from hosting.errors import ConfigurationError
from hosting.options import AgentOptions, Retry

OWN: dict[str, Any] = {
    "http": False,
    "mcp": False,
    "tool_name": "own",
    "tool_description": "The agent's own.",
    "run_timeout_seconds": 1.0,
    "ttl_seconds": 0.0,
    "retry": Retry(attempts=2),
    "busy": "reject",
    "budget": "its own",
    "limit": "its own",
    "webhook": "https://own.example",
    "client_tools": False,
    "reasoning": "drop",
    "model_options": {},
    "callback": "its own",
    "within": "another",
}
APP = AgentOptions(
    http=True,
    mcp=True,
    tool_name="app",
    tool_description="The app's.",
    run_timeout_seconds=60.0,
    ttl_seconds=60.0,
    retry=Retry(),
    budget="the app's",
    limit="the app's",
    webhook="https://app.example",
    client_tools=True,
    reasoning="show",
    model_options={"max_tokens": 5},
    callback="the app's",
)


def test_an_agents_own_option_stands_before_the_apps() -> None:
    """Also one that is as good as nothing; all others are the app's."""
    assert OWN.keys() == set(AgentOptions.__struct_fields__)
    for name, value in OWN.items():
        assert AgentOptions(**{name: value}).over(APP) == replace(APP, **{name: value})


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"mcp": False, "tool_name": "joke"}, "mcp_tool_name is given for agent 'Joker', which is not an MCP tool"),
        ({"tool_description": "Jokes."}, "mcp_tool_description is given for agent 'Joker', which is not an MCP tool"),
        ({"mcp": True, "tool_name": "a joke"}, "mcp_tool_name 'a joke' of agent 'Joker' cannot be a tool's name"),
        ({"mcp": True, "tool_description": " "}, "mcp_tool_description of agent 'Joker' is blank"),
        ({"busy": None}, "busy of agent 'Joker' is 'None'"),
        ({"ttl_seconds": -1}, "ttl_seconds of agent 'Joker' is -1"),
    ],
)
def test_options_that_no_agent_can_have_are_refused(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ConfigurationError, match=sentence):
        AgentOptions(**options).check("Joker")
