"""A name over MCP belongs to one function: a second one is refused at start-up."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.app_folder import make_app
from tests.support.running_host import run_command

TOOL_BESIDE_AGENT = """
from hosting.app import AgentFunctionApp
from tests.support.app.scripted import scripted_agent
app = AgentFunctionApp(agents=[scripted_agent("Joker")], enable_mcp_tool_trigger=True)

@app.mcp_tool_trigger(arg_name="context", tool_name="joker")
def own(context): ...
"""
OTHERS = """
import azure.functions as func
app = func.FunctionApp()

@app.{}
def one(context): ...

@app.{}
def two(context): ...
"""
PROMPT = 'mcp_prompt_trigger(arg_name="context", prompt_name="{}")'
TOOL = 'mcp_tool_trigger(arg_name="context", tool_name="greet")'
RESOURCE = 'mcp_resource_trigger(arg_name="context", uri="a://{+path}", resource_name="one")'


@pytest.mark.slow
@pytest.mark.behaviour("mcp.names")
@pytest.mark.parametrize(
    ("source", "status", "says"),
    [
        (TOOL_BESIDE_AGENT, 1, "its name 'joker' meets 'Joker' of the function 'mcptool-Joker'. Rename one."),
        (
            OTHERS.format(PROMPT.format("greet"), PROMPT.format("Greet")),
            1,
            "its name 'Greet' meets 'greet' of the function 'one'. Rename one.",
        ),
        (OTHERS.format(RESOURCE, TOOL), 1, "the place '{+path}'"),
        (OTHERS.format(TOOL, PROMPT.format("greet")), 0, ""),
    ],
    ids=["a tool named as an agent's", "two prompts", "no address", "a tool and a prompt"],
)
def test_a_name_that_is_taken_is_refused_at_start(tmp_path: Path, source: str, status: int, says: str) -> None:
    """Compared without case among functions of one kind; the function that has the name is named."""
    listed = run_command(make_app(tmp_path, source), "functions")

    assert (listed.returncode, says in listed.stderr) == (status, True), listed.stderr
