"""`durable-agent-host new --from-upstream`: an app of Microsoft's package, moved over by one command."""

import json
import subprocess
from pathlib import Path

import pytest

from packages.build import ROOT, version
from tests.packages.hosted_apps import BARE, hosted, sent

pytestmark = [pytest.mark.slow, pytest.mark.behaviour("packages.from-upstream")]

APP = '''"""Ours: a café's app."""

import agent_framework_azurefunctions
from agent_framework import Agent, WorkflowBuilder, WorkflowContext, executor
from agent_framework.azure import (
    AgentCallbackContext,  # who asked
    AgentFunctionApp,
    AgentResponseCallbackProtocol as Protocol,
)
from typing_extensions import Never

from shop.clients import Echo


class Listener(Protocol):
    async def on_streaming_response_update(self, update, context: AgentCallbackContext) -> None: ...

    async def on_agent_response(self, response, context: AgentCallbackContext) -> None: ...


@executor(id="loud")
async def loud(text: str, ctx: WorkflowContext[Never, str]) -> None:
    await ctx.yield_output(text.upper())


def build():
    return WorkflowBuilder(name="Loud", start_executor=loud, output_from="all").build()


echo = Agent(client=Echo(), name="echo")
app: AgentFunctionApp = agent_framework_azurefunctions.AgentFunctionApp([echo], build())
'''
MOVED = """
import durable_agent_host
from agent_framework import Agent, WorkflowBuilder, WorkflowContext, executor
from durable_agent_host import (
    AgentCallbackContext,  # who asked
    AgentFunctionApp,
    AgentResponseCallbackProtocol as Protocol,
)
from typing_extensions import Never

from shop.clients import Echo

"""
CLIENTS = """
from agent_framework import BaseChatClient, ChatResponse, Message


class Echo(BaseChatClient):
    async def _inner_get_response(self, *, messages, stream, options, **others):
        return ChatResponse(messages=[Message("assistant", [f"{len(messages)}: {messages[-1].text}"])])
"""
HOST = {
    "version": "2.0",
    "extensionBundle": {"id": "Microsoft.Azure.Functions.ExtensionBundle.Preview", "version": "[4.29.0, 5.0.0)"},
    "extensions": {"durableTask": {"hubName": "Cafe", "maxConcurrentEntityFunctions": 7}},
}
BY_HAND = """
import os
from unittest import mock

import agent_framework.azure
import agent_framework_azurefunctions as hosting
from agent_framework_azurefunctions import AgentFunctionApp, DurableAIAgent
from agent_framework_azurefunctions._entities import create_agent_entity
from agent_framework_durabletask import DurableAIAgentWorker

import mine

mine.agent_framework_azurefunctions = "agent-framework-azurefunctions"
mock.patch("agent_framework_azurefunctions._app.AgentFunctionApp")
try: from agent_framework.azure import AgentFunctionApp as App, NoSuchClient
except ImportError: pass
app = App(agents=[], workflows=[mine.one(os.environ), mine.two()], workflow=mine.built)
app.add_agent(mine.agent, entity_id="x")
agent_framework.azure.AgentFunctionApp, hosting.AgentFunctionApp, hosting.get_logger, hosting.runtime_status_name
"""
LEFT = f"""
Dockerfile:2: it names agent-framework-azurefunctions. Name durable-agent-host instead.
broken.py: it is not readable Python (invalid syntax (<unknown>, line 1)), and was copied as it is.
function_app.py:7: DurableAIAgent is not in durable_agent_host.
    It is only a type: the result of app.get_agent(context, name) needs no import.
function_app.py:9: create_agent_entity is not in durable_agent_host.
    It was imported from agent_framework_azurefunctions._entities.
function_app.py:10: DurableAIAgentWorker is not in durable_agent_host.
    Use AgentWorker, as guides/console.md of the documentation says.
function_app.py:15: the string 'agent_framework_azurefunctions._app.AgentFunctionApp' names Microsoft's package.
    Name ours, or leave it out.
function_app.py:16: the agent-framework that durable-agent-host needs has no agent_framework.azure.NoSuchClient any
    more. Use another client.
function_app.py:19: add_agent has no entity_id: an agent's entity is dafx-<agent name>. Leave it out.
function_app.py:20: agent_framework.azure.AgentFunctionApp is Microsoft's.
    Write `from durable_agent_host import AgentFunctionApp`.
function_app.py:20: get_logger is not in durable_agent_host. It was imported from agent_framework_azurefunctions.
function_app.py:20: runtime_status_name is not in durable_agent_host. Write status.runtime_status.name.
uv.lock: it locks agent-framework-durabletask. Create it again.
requirements.txt: there is none in SOURCE. The new one has durable-agent-host=={version()} alone; add what else you use.
"""


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8", newline="")


def move(programs: Path, parent: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [str(programs / "durable-agent-host"), "new", *arguments]
    return subprocess.run(command, cwd=parent, env=BARE, capture_output=True, text=True, check=False)


def files(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_an_app_of_upstreams_answers_once_it_is_moved_over(both_installed: Path, tmp_path: Path) -> None:
    """Its agents, its workflow and its callback; what it left is as it was."""
    host = {**HOST, "extensions": {"durableTask": {"hubName": "Cafe"}}}
    theirs = {"function_app.py": APP, "shop/clients.py": CLIENTS, "host.json": json.dumps(host)}
    theirs["requirements.txt"] = "agent-framework_azurefunctions[x]>=1.0.0b1 ; python_version < '3.13'\nrequests==2\n"
    write(tmp_path / "cafe", {**theirs, ".venv/lib/x.py": "", "README.md": "Ours.\n"})
    before = files(tmp_path / "cafe")
    ended = move(both_installed, tmp_path, "moved", "--from-upstream", "cafe", "--minimal")
    app = (tmp_path / "moved" / "function_app.py").read_text(encoding="utf-8")
    with hosted([str(both_installed / "functions-local-host"), "start", "--port", "0"], tmp_path / "moved") as origin:
        said = sent(f"{origin}/api/agents/echo/run?thread_id=one", b"Hello")
        shouted = sent(f"{origin}/api/workflows/Loud/run", b"Hello")

    assert (ended.returncode, ended.stderr) == (0, "")
    assert (said, shouted) == ("1: Hello", "HELLO")
    assert MOVED in app
    assert "app: AgentFunctionApp = durable_agent_host.AgentFunctionApp([echo], build())\n" in app
    assert app.partition("class Listener")[2].partition("echo = ")[0] in APP
    assert files(tmp_path / "moved")["requirements.txt"].decode() == f"durable-agent-host=={version()}\nrequests==2\n"
    assert "Changed: function_app.py, host.json, requirements.txt." in ended.stdout
    assert "in place of the template's: README.md.\n" in ended.stdout
    assert files(tmp_path / "cafe") == before
    assert {name.partition("/")[0] for name in files(tmp_path / "moved")} >= {"dev.py", "host.json", "shop"}
    assert not {"agents", "tests", "infra", ".venv"} & {path.name for path in (tmp_path / "moved").iterdir()}


def test_host_json_has_the_users_values_over_the_templates(both_installed: Path, tmp_path: Path) -> None:
    """The hub above all, where the conversations are, also where its name is the engine's default."""
    found = {}
    for name, host in (("named", HOST), ("unnamed", {"version": "2.0"})):
        write(tmp_path / name, {"function_app.py": APP, "host.json": json.dumps(host)})
        ended = move(both_installed, tmp_path, f"new-{name}", "--from-upstream", name)
        assert ended.returncode == 0, ended.stderr
        found[name] = json.loads((tmp_path / f"new-{name}" / "host.json").read_text(encoding="utf-8"))
        assert ("    host.json: extensionBundle was {" in ended.stdout) == (name == "named")
    template = json.loads((ROOT / "host.json").read_text(encoding="utf-8"))
    engine = found["named"]["extensions"]["durableTask"]

    assert (engine["hubName"], engine["maxConcurrentEntityFunctions"]) == ("Cafe", 7)
    assert engine["storageProvider"] == template["extensions"]["durableTask"]["storageProvider"]
    assert found["named"]["extensionBundle"] == template["extensionBundle"]
    assert "hubName" not in found["unnamed"]["extensions"]["durableTask"]


def test_what_cannot_be_rewritten_is_said_by_its_line(both_installed: Path, tmp_path: Path) -> None:
    """And the rest of the file is rewritten, with the line ends that it had."""
    theirs = {
        "function_app.py": BY_HAND.replace("\n", "\r\n"),
        "broken.py": "app =",
        "Dockerfile": "FROM x\nRUN pip install ",
    }
    theirs["Dockerfile"] += "agent-framework-azurefunctions\n"
    write(tmp_path / "by hand", {**theirs, "uv.lock": "agent-framework-durabletask\nagent-framework-durabletask\n"})
    ended = move(both_installed, tmp_path, "moved", "--from-upstream", "by hand")
    said = ended.stdout.partition("which were not rewritten:\n\n")[2]
    moved = files(tmp_path / "moved")["function_app.py"].decode()

    assert ended.returncode == 0, ended.stderr
    assert said.split() == LEFT.replace("SOURCE", str(tmp_path / "by hand")).split()
    assert "\r\nimport durable_agent_host as hosting\r\n" in moved
    assert (
        "\r\nfrom agent_framework_azurefunctions import DurableAIAgent\r\nfrom durable_agent_host import AgentF"
        in moved
    )
    assert "\r\ntry: from agent_framework.azure import NoSuchClient; from durable_agent_host import Agent" in moved
    assert 'mine.agent_framework_azurefunctions = "agent-framework-azurefunctions"\r\n' in moved
    assert "workflows=[mine.one(os.environ), mine.two()], workflow=mine.built)" in moved
    assert moved.count("\n") == moved.count("\r\n") == BY_HAND.count("\n") + 1
