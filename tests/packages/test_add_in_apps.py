"""`durable-agent-host add` in an app of each kind that `new` makes: what it adds is tested, served and deployed."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.packages.hosted_apps import hosted, new, sent

pytestmark = [pytest.mark.slow(seconds=12), pytest.mark.timeout(600), pytest.mark.behaviour("packages.add")]
THEIRS = """
from agent_framework import Agent, BaseChatClient, ChatResponse, ChatResponseUpdate, Content, FunctionInvocationLayer
from agent_framework.azure import AgentFunctionApp


class Echo(FunctionInvocationLayer, BaseChatClient):
    def _inner_get_response(self, *, messages, stream, options, **others):
        answer = self._answer(messages[-1].text)
        return self._build_response_stream(answer) if stream else ChatResponse.from_update_generator(answer)

    async def _answer(self, asked):
        yield ChatResponseUpdate(role="assistant", contents=[Content.from_text(f"You wrote: {asked}")])


chat_client = Echo()
echo = Agent(client=chat_client, name="echo")
app = AgentFunctionApp(agents=[echo])
"""
ADDED = (
    ("agent", "support"),
    ("tool", "find_order", "--agent", "support"),
    ("workflow", "review"),
    ("schedule", "morning", "--agent", "support"),
    ("trigger", "inbox", "--agent", "support"),
)
APPS = {
    "whole": (),
    "from upstream": ("--minimal", "--from-upstream", "theirs"),
}
FUNCTIONS = {"inbox", "morning", "dafx-support", "http-support"}


def typed(folder: Path, *arguments: str) -> str:
    """Type a command of the app, which ends well, and return what it prints."""
    command = [sys.executable, "dev.py", *arguments]
    ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, f"{arguments}\n{ended.stdout}{ended.stderr}"
    return ended.stdout


@pytest.mark.parametrize("options", APPS.values(), ids=APPS)
def test_what_is_added_to_an_app_of_each_kind_works(
    options: tuple[str, ...],
    started: Path,
    both_installed: Path,
    where_wheels_are: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    """Its tests pass, the agent calls the new tool, the workflow answers, and `check` finds nothing."""
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "function_app.py").write_text(THEIRS, encoding="utf-8")
    assert new(both_installed, tmp_path, "mine", *options).returncode == 0
    folder = tmp_path / "mine"
    (folder / ".venv").symlink_to(started / ".venv", target_is_directory=True)

    for added in ADDED:
        assert f"Added the {added[0]} {added[1]}:" in typed(folder, "exec", "durable-agent-host", "add", *added)
    tested = typed(folder, "test", "-q")
    with hosted([sys.executable, "dev.py", "run", "--port", "0"], folder, dict(os.environ)) as origin:
        said = sent(f"{origin}/api/agents/support/run", b'Call find_order with {"text": "A-17"}')
        reviewed = sent(f"{origin}/api/workflows/review/run", b" A-17 ")
    listed = typed(folder, "exec", "functions-local-host", "functions")

    assert "failed" not in tested
    assert "find_order got A-17" in said or "You wrote: Call find_order" in said  # an app moved over has its own model
    assert reviewed == "review got A-17"
    assert {name for name in FUNCTIONS if name in listed} == FUNCTIONS
    typed(folder, "exec", "durable-agent-host", "check", "--ignore", "unlocked")
