"""The pytest plugin of the wheel, in an app of ten agents that `new` made."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

APP = """
from agent_framework import Agent, tool
from durable_agent_host import AgentFunctionApp, OfflineChatClient, idempotent

from ledger import LEDGER


@idempotent
@tool
def refund(order: str) -> str:
    \"\"\"Pay back.\"\"\"
    with LEDGER.open("a") as ledger:
        ledger.write(order + " ")
    return "paid"


@tool(approval_mode="always_require")
def delete(order: str) -> str:
    \"\"\"Delete an order, if a person agrees.\"\"\"
    return "deleted"


@idempotent
@tool
def look(order: str) -> str:
    \"\"\"Look an order up.\"\"\"
    return "shipped"


app = AgentFunctionApp(
    agents=[Agent(OfflineChatClient(), name=f"agent{number}", tools=[refund, look, delete]) for number in range(10)]
)
"""
LEDGER = """
from pathlib import Path

LEDGER = Path(__file__).with_name("ledger.txt")
"""
TESTS = """
import pytest

from ledger import LEDGER


@pytest.mark.parametrize("number", range(10))
def test_each_agent_looks_up_and_answers(ask, model, agent_app, number):
    model.calls("look", order="A-17").says("It is on its way.")
    assert ask("Where is A-17?", agent=f"agent{number}").text == "It is on its way."
    assert [call.tool for call in agent_app.tool_calls] == ["look"]


def test_a_person_decides(ask, approve, model):
    model.calls("delete", order="A-17").says("Deleted.")
    assert approve(ask("Delete A-17.", agent="agent1")).text == "Deleted."


def test_a_stream_has_the_words(stream, model):
    model.says("It is on its way.")
    streamed = stream("Where is A-17?", agent="agent2")
    assert "".join(fields["text"] for name, fields in streamed.events if name == "delta") == "It is on its way."


@pytest.mark.killed_at("each step")
def test_a_look_survives(ask, model):
    model.calls("look", order="A-17").says("It is on its way.")
    assert ask("Where is A-17?", agent="agent3").text == "It is on its way."


@pytest.mark.killed_at("each step")
def test_a_refund_is_paid_once(ask, model):
    LEDGER.write_text("")
    model.calls("refund", order="A-17").says("Done.")
    assert ask("Refund A-17.", agent="agent7").text == "Done."
    assert LEDGER.read_text() == "A-17 "
"""


@pytest.mark.timeout(600)
@pytest.mark.behaviour("testing.new-app")
def test_ten_agents_are_tested_and_a_refund_that_is_paid_twice_is_found(
    made: Path, where_wheels_are: pytest.MonkeyPatch
) -> None:
    """`dev.py test` of the app finds the plugin by itself: twelve tests, two with eight kills each, and a red one."""
    for name, text in {"function_app.py": APP, "ledger.py": LEDGER, "tests/test_app.py": TESTS}.items():
        (made / name).write_text(text, encoding="utf-8")
    subprocess.run([sys.executable, "dev.py", "test", "--version"], cwd=made, check=True)  # makes the environment

    command = [sys.executable, "dev.py", "test", "-q", "-rf"]
    ended = subprocess.run(command, cwd=made, env=dict(os.environ), capture_output=True, text=True, check=False)

    summary = [line for line in ended.stdout.splitlines() if line.startswith("FAILED")]
    assert ended.returncode == 1, ended.stdout + ended.stderr
    assert "1 failed, 29 passed" in ended.stdout
    (failed,) = summary
    assert "test_a_refund_is_paid_once[killed before the result of 'refund' was recorded]" in failed
