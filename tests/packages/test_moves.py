"""The recipes for moving from elsewhere: what they have before is run there, and answers as what they have after."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import httpx
import pytest
from openai import OpenAI

from packages.build import ROOT
from packages.durable_agent_host.skill import SKILL
from tests.packages.hosted_apps import hosted
from tests.packages.recipes import Follower
from tests.support.python_packages import FOUNDRY_HOSTING, LANGGRAPHS_SERVER, installed
from tests.support.running_host import RunningHost

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600), pytest.mark.behaviour("packages.skill")]
TEXTS = ("Two words", "This text has five words", "")
ASKED = 'Call find_order with {"text": "A-17"}'
ANSWERED = "The tool says: order A-17 is on its way"
HOST = {"version": "2.0", "extensions": {"durableTask": {"hubName": "theirs"}}}
ASK = """
import json, sys
from theirs import app
ask = lambda number, text: app.invoke({"text": text, "verdict": ""}, {"configurable": {"thread_id": str(number)}})
print(json.dumps([ask(number, text)["text"] for number, text in enumerate(sys.argv[1:])]))
"""
OURS = """
import asyncio, json, sys
from length import length
print(json.dumps([asyncio.run(length().run(text)).get_outputs()[0] for text in sys.argv[1:]]))
"""
BEFORE_FOUNDRY = '''
from agent_framework import tool
from agent_framework_foundry_hosting import ResponsesHostServer

from hosting.offline.model import OfflineChatClient
from tests.conformance.serving import serve

ResponsesHostServer.run = serve  # by the tests' own server, at a free port
client = OfflineChatClient()


@tool
async def find_order(text: str) -> str:
    """Look an order up."""
    return f"order {text} is on its way"


'''


def recipe(name: str) -> str:
    return (SKILL / "references" / f"{name}.md").read_text(encoding="utf-8")


def blocks(name: str, language: str) -> list[str]:
    """Return the blocks of a recipe in a language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", recipe(name), re.MULTILINE | re.DOTALL)


def printed(folder: Path, script: str, path: str = "") -> list[str]:
    """Return what a script prints of each text, in a folder."""
    environ = {**os.environ, "PYTHONPATH": path}
    command = [sys.executable, "-c", script, *TEXTS]
    return list(json.loads(subprocess.check_output(command, cwd=folder, env=environ, text=True)))


def test_the_graph_of_langgraph_answers_as_its_workflow(tmp_path: Path, pytestconfig: pytest.Config) -> None:
    """The same for each text, by the two libraries themselves."""
    packages = installed(Path(pytestconfig.cache.mkdir("langgraph")), *LANGGRAPHS_SERVER)
    (tmp_path / "theirs.py").write_text(blocks("from-langgraph", "text")[0], encoding="utf-8")
    (tmp_path / "length.py").write_text(blocks("from-langgraph", "python")[0], encoding="utf-8")
    before = printed(tmp_path, ASK, str(packages))

    assert before == [f"{text} is {verdict}." for text, verdict in zip(TEXTS, ("short", "long", "short"), strict=True)]
    assert printed(tmp_path, OURS) == before


@pytest.mark.skipif(
    importlib.util.find_spec("agent_framework_azurefunctions") is None,
    reason="agent-framework-azurefunctions is not installed: it asks for azure-functions below 2, "
    "which Python 3.13 and later do not take",
)
def test_the_app_of_microsofts_package_answers_as_the_moved_one(tmp_path: Path) -> None:
    """The file that the recipe begins with, hosted by the package that it names; the recipe shows the same answer."""
    (tmp_path / "host.json").write_text(json.dumps(HOST), encoding="utf-8")
    source = blocks("from-agent-framework-azurefunctions", "python")[0]
    (tmp_path / "function_app.py").write_text(source, encoding="utf-8")
    with RunningHost(tmp_path) as host:
        answer = httpx.post(f"{host.origin}/api/agents/echo/run?thread_id=first", content="Hello", timeout=30)

    assert answer.text == "You wrote: Hello"
    assert "\nYou wrote: Hello\n" in recipe("from-agent-framework-azurefunctions")


def test_the_agent_of_foundrys_hosting_answers_as_the_moved_one(
    fresh: Path, environ: dict[str, str], tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    """One client asks both by the same protocol; what the recipe says in words is done too."""
    packages = installed(Path(pytestconfig.cache.mkdir("foundry-hosting")), *FOUNDRY_HOSTING)
    (tmp_path / "main.py").write_text(BEFORE_FOUNDRY + blocks("from-foundry-hosting", "text")[0], encoding="utf-8")
    path = os.pathsep.join([str(packages), str(ROOT)])
    state = {"PYTHONPATH": path, "AGENTSERVER_STATE_ROOT": str(tmp_path / "state")}
    with RunningHost(tmp_path, "0", module="main", environ=state) as theirs:
        before = asked(theirs.origin)
    Follower(fresh, environ).follow(recipe("from-foundry-hosting"))
    replace(fresh / "agents" / "support.py", r'INSTRUCTIONS = """.*?"""', 'INSTRUCTIONS = "Look orders up."')
    replace(fresh / "tools" / "find_order.py", r"    return .*", '    return f"order {text} is on its way"')
    with hosted([sys.executable, "dev.py", "run", "--port", "0"], fresh, environ) as ours:
        after = asked(f"{ours}/api/openai/v1")

    assert (before, after) == (ANSWERED, ANSWERED)


def asked(base_url: str) -> str:
    """Ask by OpenAI's own client."""
    client = OpenAI(base_url=base_url, api_key="none")
    return str(client.responses.create(model="support", input=ASKED).output_text)


def replace(path: Path, pattern: str, text: str) -> None:
    """Have a person's words in place of those that were written for them."""
    changed, count = re.subn(pattern, lambda match: text, path.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert count == 1, path
    path.write_text(changed, encoding="utf-8")
