"""A name over MCP belongs to one function: a second one is refused at start-up."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.app_folder import make_app
from tests.support.running_host import run_command

pytestmark = pytest.mark.slow

TOOL_BESIDE_AGENT = """
from hosting.app import AgentFunctionApp
from tests.support.app.scripted import scripted_agent
app = AgentFunctionApp(agents=[scripted_agent("Joker")], enable_mcp_tool_trigger=True)

@app.mcp_tool_trigger(arg_name="context", tool_name="joker")
def own(context): ...
"""
TWO_PROMPTS = """
import azure.functions as func
app = func.FunctionApp()

@app.mcp_prompt_trigger(arg_name="context", prompt_name="greet")
def one(context): ...

@app.mcp_prompt_trigger(arg_name="context", prompt_name="Greet")
def two(context): ...
"""
NO_ADDRESS = """
import azure.functions as func
app = func.FunctionApp()

@app.mcp_resource_trigger(arg_name="context", uri="a://{+path}", resource_name="one")
def one(context): ...
"""
ONE_OF_EACH = """
import azure.functions as func
app = func.FunctionApp()

@app.mcp_tool_trigger(arg_name="context", tool_name="greet")
def one(context): ...

@app.mcp_prompt_trigger(arg_name="context", prompt_name="greet")
def two(context): ...
"""


@pytest.mark.behaviour("mcp.names")
@pytest.mark.parametrize(
    ("source", "says"),
    [
        (TOOL_BESIDE_AGENT, "its name 'joker' meets 'Joker' of the function 'mcptool-Joker'. Rename one."),
        (TWO_PROMPTS, "its name 'Greet' meets 'greet' of the function 'one'. Rename one."),
        (NO_ADDRESS, "the place '{+path}'"),
    ],
    ids=["a tool named as an agent's", "two prompts", "no address"],
)
def test_a_name_that_is_taken_is_refused_at_start(tmp_path: Path, source: str, says: str) -> None:
    """Compared without case; the function that has the name is named."""
    listed = run_command(make_app(tmp_path, source), "functions")

    assert (listed.returncode, says in listed.stderr) == (1, True), listed.stderr


@pytest.mark.behaviour("mcp.names")
def test_a_tool_and_a_prompt_may_have_one_name(tmp_path: Path) -> None:
    listed = run_command(make_app(tmp_path, ONE_OF_EACH), "functions")

    assert listed.returncode == 0, listed.stderr
