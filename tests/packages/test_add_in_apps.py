"""`durable-agent-host add` in an app of each kind that `new` makes: what it adds is tested, served and deployed."""

import fnmatch
import os
import shutil
import subprocess
import sys
from pathlib import Path, PurePosixPath

import pytest

from tests.packages.hosted_apps import BARE, hosted, new, sent

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600), pytest.mark.behaviour("packages.add")]
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
    "minimal": ("--minimal",),
    "container": ("--minimal", "--container"),
    "from upstream": ("--minimal", "--from-upstream", "theirs"),
}
FUNCTIONS = {"inbox", "morning", "dafx-support", "http-support"}


def typed(folder: Path, *arguments: str) -> str:
    """Type a command of the app, which ends well, and return what it prints."""
    command = [sys.executable, "dev.py", *arguments]
    ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, f"{arguments}\n{ended.stdout}{ended.stderr}"
    return ended.stdout


def in_image(folder: Path) -> set[str]:
    """What `COPY . .` takes along: a line of .dockerignore names what is at the top, or with `**/` what is anywhere."""
    lines = (folder / ".dockerignore").read_text(encoding="utf-8").splitlines()

    def is_ignored(path: PurePosixPath) -> bool:
        return any(
            any(fnmatch.fnmatch(part, line[3:]) for part in path.parts)
            if line.startswith("**/")
            else fnmatch.fnmatch(path.parts[0], line.rstrip("/"))
            for line in lines
            if line and not line.startswith("#")
        )

    files = [PurePosixPath(path.relative_to(folder).as_posix()) for path in folder.rglob("*") if path.is_file()]
    return {str(path) for path in files if not is_ignored(path)}


@pytest.mark.parametrize("options", APPS.values(), ids=APPS)
def test_what_is_added_to_an_app_of_each_kind_works(
    options: tuple[str, ...], made: Path, both_installed: Path, tmp_path: Path
) -> None:
    """Its tests pass, the agent calls the new tool, the workflow answers, and `check` finds nothing."""
    typed(made, "exec", "python", "-c", "")  # so that its packages are there
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "function_app.py").write_text(THEIRS, encoding="utf-8")
    assert new(both_installed, tmp_path, "mine", *options).returncode == 0
    folder = tmp_path / "mine"
    (folder / ".venv").symlink_to(made / ".venv", target_is_directory=True)

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


def test_an_image_of_the_app_has_what_was_added(made: Path, both_installed: Path, tmp_path: Path) -> None:
    """The files that the image copies are an app with all its functions; those of the tests stay away."""
    typed(made, "exec", "python", "-c", "")
    assert new(both_installed, tmp_path, "mine", "--minimal", "--container").returncode == 0
    folder = tmp_path / "mine"
    (folder / ".venv").symlink_to(made / ".venv", target_is_directory=True)
    for added in ADDED:
        typed(folder, "exec", "durable-agent-host", "add", *added)
    for name in (copied := in_image(folder)):
        (tmp_path / "image" / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(folder / name, tmp_path / "image" / name)
    index = "import function_app; print(*(each.get_function_name() for each in function_app.app.get_functions()))"
    python = str(made / ".venv" / both_installed.name / "python")
    names = subprocess.check_output([python, "-c", index], cwd=tmp_path / "image", env=BARE, text=True).split()

    assert {"function_app.py", "tools/find_order.py", "workflows/review.py"} <= copied
    assert {name.partition("/")[0] for name in copied} & {"tests", ".venv", "dev.py"} == set()
    assert set(names) >= FUNCTIONS
