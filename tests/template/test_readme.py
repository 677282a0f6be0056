"""The README, typed in from a clone, and what a newcomer sees first."""

from __future__ import annotations

import asyncio
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import aiohttp
import pytest

from agents.models import SETTINGS
from conformance import __name__ as CONFORMANCE
from devhost import __name__ as DEVHOST
from hosting import __name__ as HOSTING
from packages.durable_agent_host import __name__ as COMMAND
from state import __name__ as STATE
from tests.support.browsing import a_browser, needs_browser
from tests.support.console_blocks import is_shown, steps_in, typed
from tests.support.pages import ROOT, code, page, part
from tests.support.running_host import APPS, RunningHost, host_environment, run_command
from tests.support.template_process import answer_within, copy_tree, running

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
    answer_within(tmp_path, 0.5)
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


HOST = [sys.executable, "-m", "devhost", "start", "--port", "0"]


@pytest.mark.slow
@pytest.mark.behaviour("template.start-shows-the-model")
async def test_a_start_shows_the_model_the_agents_and_a_request_that_asks_one(tmp_path: Path) -> None:
    """What else the host serves is counted: that of each feature, so the number is no promise."""
    copy_tree(tmp_path)
    async with running(HOST, tmp_path) as app:
        command = shlex.split(app.printed[-1].removeprefix("Try: "))
        answer = subprocess.run(command, capture_output=True, text=True, check=True).stdout

    origin = app.origin
    printed = [re.sub(r"\d+(?= more with)", "N", line) for line in app.printed[2:]]
    assert printed == [
        "Model: offline, for development only. Choose a model by AZURE_OPENAI_ENDPOINT, OPENAI_BASE_URL or "
        "OPENAI_API_KEY: docs/guides/models.md.",
        "",
        "Functions:",
        "",
        f"\thttp-assistant: [POST] {origin}/api/agents/assistant/run",
        "\tN more with --verbose",
        "",
        f"MCP: {origin}/runtime/webhooks/mcp (tools: assistant)",
        "",
        f"Open: {origin}/api/ui/",
        f'Try: curl {origin}/api/agents/assistant/run -d "What is the weather in Paris?"',
    ]
    assert answer == "The weather in Paris: partly cloudy, 18 °C."


@pytest.mark.slow
@pytest.mark.behaviour("template.start-shows-the-model")
@pytest.mark.behaviour("template.misspelt-model-setting-named")
async def test_a_start_names_another_model_and_a_misspelt_setting(tmp_path: Path) -> None:
    """The model's address is shown without a password in it. A setting that a library reads is spelt right."""
    copy_tree(tmp_path)
    settings = {
        "OPENAI_BASE_URL": "http://me:secret@127.0.0.1:9/v1",
        "OPENAI_MODEL": "small",
        "OPENAI_MODEL_NAME": "x",
        "AZURE_OPENAI_MODLE": "x",
        "OPENAI_ORG_ID": "x",
    }
    async with running(HOST, tmp_path, **settings) as app:
        printed = "\n".join(app.printed)

    assert "Model: small at http://127.0.0.1:9/v1/\n" in printed
    for name, nearest in (("OPENAI_MODEL_NAME", "OPENAI_MODEL"), ("AZURE_OPENAI_MODLE", "AZURE_OPENAI_MODEL")):
        assert (
            f"There is no setting {name}, so it does nothing. Is {nearest} meant? See docs/guides/models.md." in printed
        )
    assert printed.count("There is no setting") == 2


APP = ("function_app.py", "host.json")
GUARD_SECONDS = 30
ASK = """new Promise(done => {
    const form = document.getElementById("composer")
    const ask = setInterval(() => {
        if (form.hidden) return
        clearInterval(ask)
        document.getElementById("message").value = "What is the weather in Paris?"
        form.requestSubmit()
    }, 20)
    setInterval(() => {
        const turn = document.querySelector("[data-end=completed] .markdown")
        turn && done(turn.textContent)
    }, 20)
})"""
SHOWN = """new Promise(done => setInterval(() => {
    const lines = [...document.querySelectorAll("main > details > summary")].map(line => line.textContent)
    lines.length && done(lines.map(line => line.replace(/([A-Z]+)/, "$1 ").split(" ").slice(0, 2).join(" ")))
}, 20))"""


@pytest.mark.slow
@needs_browser
@pytest.mark.behaviour("template.start-page")
async def test_the_first_page_leads_to_an_answer_that_streams_and_to_every_route(tmp_path: Path) -> None:
    for name in APP:
        shutil.copy(ROOT / name, tmp_path)
    with RunningHost(tmp_path, environ=dict.fromkeys(SETTINGS, "")) as app:
        async with aiohttp.ClientSession(app.origin) as session:
            document = await (await session.get("/api/openapi.json")).json()
        async with a_browser() as browser:
            page = await browser.new_page()
            await page.goto(f"{app.origin}/")
            links = await page.evaluate("[...document.querySelectorAll('ul a')].map(link => link.href)")
            await page.goto(links[0])
            answer = await asyncio.wait_for(page.evaluate(ASK), GUARD_SECONDS)
            await page.goto(links[1])
            shown = await asyncio.wait_for(page.evaluate(SHOWN), GUARD_SECONDS)

    assert answer == "The weather in Paris: partly cloudy, 18 °C."
    operations = [f"{verb.upper()} {path}" for path, item in document["paths"].items() for verb in item]
    assert sorted(shown) == sorted(operations)


DOCUMENT = '{"schemaVersion": "1.1.0", "data": {"conversationHistory": []}}'
COMMANDS = {
    "dev.py": [str(ROOT / "dev.py"), "--help"],
    "operations": ["-m", f"{HOSTING}.commands.operations", "--help"],
    "state": ["-m", STATE, "DOCUMENT"],
    "start": ["-m", DEVHOST, "start", "--port", "0"],
    "conformance": ["-m", CONFORMANCE, "--list"],
    "commands": ["-m", COMMAND, "--help"],
}


@pytest.mark.slow
@pytest.mark.behaviour("template.closed-pipe")
@pytest.mark.skipif(sys.platform == "win32", reason="a pipe breaks in another way there")
@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_whose_output_nobody_reads_ends_without_a_traceback(name: str, tmp_path: Path) -> None:
    """With the exit code of a program that a closed pipe ends."""
    document = tmp_path / "document.json"
    document.write_text(DOCUMENT, encoding="utf-8")
    arguments = [str(document) if each == "DOCUMENT" else each for each in COMMANDS[name]]
    unread, written = os.pipe()
    os.close(unread)
    environ = {**host_environment({"AzureWebJobsStorage": ""}), "PYTHONUNBUFFERED": ""}
    with open(written, "wb") as closed:
        finished = subprocess.run(
            [sys.executable, *arguments],
            cwd=APPS / "sent",
            stdout=closed,
            stderr=subprocess.PIPE,
            env=environ,
            timeout=60,
            check=False,
        )

    assert (finished.returncode, finished.stderr.decode()) == (141, "")
