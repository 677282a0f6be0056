"""docs/tutorials/getting-started.md, followed step by step in a clone; the cloud is left out."""

import asyncio
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.console_blocks import is_shown, steps_in, typed
from tests.support.pages import code, page, part
from tests.support.running_host import RunningHost
from tests.support.template_process import copy_tree

PAGE = page("docs/tutorials/getting-started.md")
OWN, TEST, CRASH, STREAM = (
    "## 2. Add an agent and a tool",
    "## 3. Test it without a model",
    "## 4. Kill the server in the middle of a run",
    "## 5. Stream the response",
)

pytestmark = pytest.mark.behaviour("docs.getting-started")


def follow(clone: Path) -> None:
    """Make the files of the page, and change function_app.py as it says."""
    copy_tree(clone)
    agent, app = code(part(PAGE, OWN), "python")
    (clone / "agents" / "support.py").write_text(agent, encoding="utf-8")
    line, _, call = app.strip().partition("\n\n")
    (found,) = re.findall(r"^app = .*$", (clone / "function_app.py").read_text(encoding="utf-8"), re.MULTILINE)
    text = (clone / "function_app.py").read_text(encoding="utf-8").replace(found, call)
    (clone / "function_app.py").write_text(text.replace("\nfrom agents", f"\n{line}\nfrom agents", 1), encoding="utf-8")
    (test,) = code(part(PAGE, TEST), "python")
    (clone / "tests" / "agents" / "test_support.py").write_text(test, encoding="utf-8")


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("curl") is None, reason="the page's commands use curl")
async def test_each_command_prints_what_the_page_shows(tmp_path: Path) -> None:
    """In its order, up to the stream and the rest of it."""
    follow(tmp_path)
    _, _, first = steps_in(part(PAGE, "## 1. Get a first response"))
    (called,), (streamed,) = steps_in(part(PAGE, OWN)), steps_in(part(PAGE, STREAM))
    (rest,) = code(part(PAGE, STREAM), "sh")

    with RunningHost(tmp_path) as host:
        for step in (first, called):
            printed = await typed(step, host.origin)
            assert is_shown(step.output, printed), printed
        printed = await typed(streamed, host.origin)
        assert is_shown(streamed.output, printed), printed
        (address,) = re.findall(r"(?im)^content-location: (\S+)", "\n".join(printed))
        again = await output_of(rest.replace("CONTENT-LOCATION", address))

    assert again.startswith("id: 5\nevent: tool_result\n")
    assert "event: completed" in again


@pytest.mark.slow
def test_its_test_passes_in_the_clone(tmp_path: Path) -> None:
    """By the command on the page, with the Python of this run."""
    follow(tmp_path)
    assert "python dev.py test tests/agents/test_support.py" in PAGE
    command = [sys.executable, "-m", "pytest", "-n", "0", "tests/agents/test_support.py"]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    assert ended.returncode == 0, ended.stdout


async def output_of(command: str) -> str:
    process = await asyncio.create_subprocess_shell(command, stdout=asyncio.subprocess.PIPE)
    printed, _ = await process.communicate()
    return printed.decode()
