"""The README, typed in from a clone: each command runs, and prints what the README shows."""

import asyncio
import re
import shutil
import sys
from pathlib import Path

import pytest

from tests.support.console_blocks import is_shown, steps_in, typed
from tests.support.pages import ROOT, code, page, part
from tests.support.running_host import RunningHost, run_command
from tests.support.template_process import copy_tree, running

README = page("README.md")
START_HERE = "## Getting Started"
OWN_AGENT = "### Write your own agent and tool"
CRASH = "### Kill it in the middle of a run"
START = "python dev.py run"
RUN_SECONDS = 120.0  # the lease of a killed process runs out, and the tool is slow

needs_curl = pytest.mark.skipif(shutil.which("curl") is None, reason="the README's commands use curl")


@pytest.mark.slow
@pytest.mark.behaviour("template.readme-runs")
@needs_curl
async def test_from_a_clone_every_command_of_the_readme_prints_what_it_shows(tmp_path: Path) -> None:
    """Installed for real, from the package index or its cache; the client of the page of MCP is answered too."""
    copy_tree(tmp_path)
    clone, first, *others = steps_in(part(README, START_HERE).partition("\n### ")[0])
    (mcp,) = (ROOT / "docs").rglob("mcp.md")
    client = next(
        block for block in code(mcp.read_text(encoding="utf-8"), "python") if "from mcp import Client" in block
    )
    assert clone.command.startswith("git clone ")
    assert first.command == START

    async with running([sys.executable, "dev.py", "run", "--port", "0"], tmp_path) as app:
        assert is_shown(first.output, app.printed), "\n".join(app.printed)
        for step in others:
            printed = await typed(step, app.origin)
            assert is_shown(step.output, printed), f"{step.command}\n" + "\n".join(printed)
        asked = await output_of(sys.executable, "-c", client.replace("http://localhost:7071", app.origin))

    assert asked == "Your name is Ada.\n"


@pytest.mark.slow
@pytest.mark.behaviour("template.readme-survives-a-crash")
@pytest.mark.skipif(sys.platform == "win32", reason="Ctrl-C cannot be sent to one process")
@needs_curl
async def test_a_run_that_is_interrupted_twice_is_finished_after_the_next_start(tmp_path: Path) -> None:
    """With the agent that the README has its reader write, at the moment when its tool works."""
    copy_tree(tmp_path)
    add_agent(tmp_path)
    (step,) = steps_in(part(README, CRASH))
    (plain,) = steps_in(part(README, OWN_AGENT))
    command = ("--watch", "--port", "0")

    with RunningHost(tmp_path, *command, in_terminal=True) as host:
        cut_off = asyncio.create_task(typed(step, host.origin))
        await asyncio.to_thread(host.wait_for, "calls tool find_order", RUN_SECONDS)
        host.ctrl_c()
        await asyncio.to_thread(host.wait_for, "Press Ctrl-C again to stop at once", RUN_SECONDS)
        host.ctrl_c()
        assert await cut_off == ()
        await asyncio.to_thread(host.process.wait, RUN_SECONDS)
    with RunningHost(tmp_path, *command, in_terminal=True) as host:
        printed = await typed(step, host.origin, RUN_SECONDS)
        log = await asyncio.to_thread(host.wait_for, "completed; attempts", RUN_SECONDS)
        answered = await typed(plain, host.origin)
        host.stop()

    assert is_shown(step.output, printed), printed
    assert is_shown(plain.output, answered), answered
    assert "completed; attempts 2" in log
    assert "completed; attempts 2" in part(README, CRASH)


def add_agent(clone: Path) -> None:
    """Do what the README says of an agent of one's own."""
    (agent,) = code(part(README, OWN_AGENT), "python")
    (clone / "agents" / "support.py").write_text(agent, encoding="utf-8")
    app = clone / "function_app.py"
    text = app.read_text(encoding="utf-8").replace("agents=[", "agents=[create_support(chat_client), ")
    app.write_text(text.replace("\nfrom agents", "\nfrom agents.support import create_support\nfrom agents", 1))


@pytest.mark.slow
@pytest.mark.behaviour("template.readme-runs")
@needs_curl
async def test_the_call_with_a_key_is_answered_where_keys_are_asked_for(tmp_path: Path) -> None:
    """As on Azure, by the local host with `--auth`; without the key it is refused."""
    copy_tree(tmp_path)
    (command,) = re.findall(r'`(curl "\$BASE_URL[^`]*)`', README)
    with RunningHost(tmp_path, "--port", "0", "--auth") as host:
        listed = run_command(tmp_path, "keys").stdout
        key = next(line.split()[-1] for line in listed.splitlines() if line.startswith("host:"))
        keyed = await output_of("sh", "-c", f"BASE_URL={host.origin} KEY={key}; {command} -s")
        bare = await output_of("sh", "-c", f"BASE_URL={host.origin} KEY=; {command} -s -w '%{{http_code}}'")

    assert "offline model" in keyed
    assert bare == "401"


async def output_of(*command: str) -> str:
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    printed, _ = await process.communicate()
    return printed.decode()
