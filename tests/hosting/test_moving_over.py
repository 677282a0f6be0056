"""An app of `agent-framework-azurefunctions` comes over by one import line: its constructor calls, its requests."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import azure.functions as func
import pytest

from tests.support.app.scripted import scripted_agent

THEIR_IMPORT = "from agent_framework_azurefunctions import AgentFunctionApp"
OUR_IMPORT = "from hosting.app import AgentFunctionApp"
HAVE_THEIRS = importlib.util.find_spec("agent_framework_azurefunctions") is not None

needs_theirs = pytest.mark.skipif(
    not HAVE_THEIRS,
    reason="agent-framework-azurefunctions is not installed: it asks for azure-functions below 2, "
    "which Python 3.13 and later do not take",
)

# The calls that its README, docstrings and samples show, with agents made here.
DOCUMENTED = {
    "none yet": "app = AgentFunctionApp()",
    "agents in the constructor": "app = AgentFunctionApp(agents=[joker, poet])",
    "agents added": "app = AgentFunctionApp()\napp.add_agent(joker)\napp.add_agent(poet)",
    "health and retries": "app = AgentFunctionApp(agents=[joker], enable_health_check=True, max_poll_retries=50)",
    "all of polling": "app = AgentFunctionApp(agents=[joker], max_poll_retries=10, poll_interval_seconds=0.5)",
    "no health": "app = AgentFunctionApp(agents=[joker], enable_health_check=False)",
    "an open app": "app = AgentFunctionApp(agents=[joker], http_auth_level=func.AuthLevel.ANONYMOUS)",
    "no endpoints": "app = AgentFunctionApp(agents=[joker], enable_http_endpoints=False)",
    "tools": "app = AgentFunctionApp(agents=[joker, poet], enable_mcp_tool_trigger=True)",
    "a tool only": (
        "app = AgentFunctionApp(enable_health_check=True)\n"
        "app.add_agent(joker)\n"
        "app.add_agent(poet, enable_http_endpoint=False, enable_mcp_tool_trigger=True)"
    ),
    "no callbacks": "app = AgentFunctionApp(agents=[joker], default_callback=None)\napp.add_agent(poet, callback=None)",
    "by position": "app = AgentFunctionApp([joker])\napp.add_agent(poet, None, False, True)",
    "no workflows": "app = AgentFunctionApp(agents=[joker], workflow=None, workflows=None)",
}


ATTRIBUTES = ("enable_health_check", "enable_http_endpoints", "enable_mcp_tool_trigger", "default_callback")


def built(source: str) -> Any:
    """Return the app that a module of this source makes."""
    names = {"joker": scripted_agent("Joker"), "poet": scripted_agent("Poet"), "func": func}
    exec(source, names)
    return names["app"]


def functions(app: Any) -> dict[str, str]:
    """Return the functions that belong to agents: name and kind of trigger."""
    return {
        function.get_function_name(): function.get_trigger().type
        for function in app.get_functions()
        if function.get_function_name().startswith(("http-", "dafx-", "mcptool-", "health_check"))
    }


@needs_theirs
@pytest.mark.behaviour("hosting.moves-over")
@pytest.mark.parametrize("body", DOCUMENTED.values(), ids=list(DOCUMENTED))
def test_a_documented_call_makes_the_same_functions_under_either_import(
    body: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Entities, endpoints and tools by the same names, the same agents by name; ours has more routes beside them."""
    monkeypatch.chdir(tmp_path)
    theirs, ours = (built(f"{line}\n{body}") for line in (THEIR_IMPORT, OUR_IMPORT))

    made, wanted = functions(ours), functions(theirs)
    assert made == wanted
    assert list(ours.agents) == list(theirs.agents)
    assert {name: getattr(ours, name) for name in ATTRIBUTES} == {name: getattr(theirs, name) for name in ATTRIBUTES}
