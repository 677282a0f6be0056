"""The app as its callers see it: run by the local host, and asked over HTTP. durable-agent-host has the fixtures."""

import urllib.request
from collections.abc import Callable
from typing import Any

import pytest

PARIS = "The weather in Paris: partly cloudy, 18 °C."


def test_the_assistant_uses_its_tool_and_remembers(ask: Callable[..., Any]) -> None:
    """Two turns of one conversation, with the offline model."""
    assert ask("What is the weather in Paris?", agent="assistant", thread="first").text == PARIS
    assert ask("Which city did I ask about?", agent="assistant", thread="first").text == "You asked about Paris."


@pytest.mark.killed_at("before the result of 'get_weather' was recorded")
def test_an_answer_comes_though_the_app_is_killed(ask: Callable[..., Any], model: Any) -> None:
    """Once without a kill, and once with it. "each step" kills the app everywhere."""
    model.calls("get_weather", city="Oslo").says("Take a coat.")
    assert ask("What do I wear in Oslo?", agent="assistant").text == "Take a coat."


def test_the_app_is_healthy(agent_app: Any) -> None:
    """A load balancer asks this."""
    with urllib.request.urlopen(f"{agent_app.url}/api/health", timeout=60) as answer:
        assert answer.status == 200
