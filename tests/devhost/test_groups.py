"""One app in several processes, by groups of its functions, as Flex Consumption runs it."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import httpx
import pytest

from devhost.errors import SettingsError
from devhost.groups import Group, find_group
from devhost.index import FunctionIndex
from tests.support.app_folder import make_app
from tests.support.mcp_exchange import HEADERS, PATH
from tests.support.running_host import APPS, GUARD_SECONDS, START_GUARD_SECONDS, RunningHost

pytestmark = [pytest.mark.slow, pytest.mark.behaviour("devhost.groups")]

MIXED = """
import azure.durable_functions as df
import azure.functions as func
app = df.DFApp(http_auth_level=func.AuthLevel.ANONYMOUS)


@app.route(route="hello")
def hello(req: func.HttpRequest) -> str:
    return "hello"


@app.activity_trigger(input_name="x")
def act(x: str) -> str:
    return x


@app.timer_trigger(schedule="0 0 3 * * *", arg_name="timer", run_on_startup=True)
def nightly(timer: func.TimerRequest) -> None:
    print("nightly ran", flush=True)


@app.mcp_tool_trigger(arg_name="context", tool_name="say", description="Says it.", tool_properties="[]")
def say(context) -> str:
    return "said"
"""


def start(folder: Path, group: str) -> RunningHost:
    return RunningHost(folder, "--port", "0", "--queue-poll", "0.05", "--group", group)


def test_each_process_runs_its_group_and_names_the_others(tmp_path: Path) -> None:
    """All functions are listed; MCP is served by whichever process is asked. A variable names the group, or --group."""
    folder = make_app(tmp_path, MIXED)
    groups = {"hello": "HTTP", "act": "durable", "nightly": "function:Nightly"}
    called = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "say", "arguments": {}}}
    for own, group in groups.items():
        by_variable = RunningHost(folder, environ={"FUNCTIONS_TARGET_GROUP": group}) if own == "act" else None
        with by_variable or start(folder, group) as host:
            host.wait_for("say:")
            lines = [line.strip().partition(": ") for line in host.printed if line.startswith("\t")]
            others = {name: f"runs in the group {of.lower()}" for name, of in groups.items() if name != own}
            listed = {name: text.partition(" (")[2].rstrip(")") for name, _, text in lines}
            answer = httpx.get(f"{host.origin}/api/hello", timeout=GUARD_SECONDS)
            said = httpx.post(f"{host.origin}{PATH}", json=called, headers=HEADERS, timeout=GUARD_SECONDS)
            assert listed == {**others, own: "", "say": ""}
            assert (answer.status_code, "said" in said.text) == (200 if own == "hello" else 404, True)
            if own == "nightly" and "nightly ran" not in host.printed_so_far():
                host.wait_for("nightly ran")


def test_http_processes_take_requests_while_the_durable_one_is_absent_and_killed(tmp_path: Path) -> None:
    """Signals by either are in one entity, each once; the durable process finds what was sent before and after it."""
    folder = Path(shutil.copytree(APPS / "durable", tmp_path / "app"))
    with start(folder, "http") as one, start(folder, "http") as two:
        notes = f"{one.origin}/api/notes/n", f"{two.origin}/api/notes/n"
        assert httpx.post(notes[0], content="absent", timeout=GUARD_SECONDS).status_code == 202
        with start(folder, "durable") as durable:
            assert httpx.get(f"{notes[1]}?count=1", timeout=GUARD_SECONDS).json() == ["absent"]
            assert httpx.post(notes[1], content="slow", timeout=GUARD_SECONDS).status_code == 202
            durable.wait_for("writing slow")
            durable.process.kill()
            durable.process.wait(GUARD_SECONDS)
        assert httpx.post(notes[0], content="killed", timeout=GUARD_SECONDS).status_code == 202
        with start(folder, "durable"):
            output = httpx.get(f"{notes[1]}?count=3", timeout=GUARD_SECONDS).json()
    assert output == ["absent", "slow", "killed"]


def test_a_group_is_named_without_case() -> None:
    """As the platform compares it."""
    assert find_group("Durable", FunctionIndex(())) == Group("durable")
    with pytest.raises(SettingsError, match="the groups of this app are http, durable, blob"):
        find_group("timers", FunctionIndex(()))


@pytest.mark.skipif(sys.platform == "win32", reason="an open file cannot be removed there")
@pytest.mark.behaviour("devhost.removed-folder")
def test_hosts_whose_folder_is_removed_say_so_and_stop(tmp_path: Path) -> None:
    """Each of them, the one that works on nothing too; a new one begins with nothing."""
    folder = make_app(tmp_path, MIXED)
    with start(folder, "http") as web, start(folder, "durable") as durable:
        shutil.rmtree(folder / ".devhost")
        ended = [host.process.wait(START_GUARD_SECONDS) for host in (web, durable)]

    assert ended == [1, 1]
    for host in (web, durable):
        assert "durable.db was removed or replaced while this host used it" in host.printed_so_far()
        assert "Traceback" not in host.printed_so_far()
    with start(folder, "http") as web:
        assert httpx.get(f"{web.origin}/api/hello", timeout=GUARD_SECONDS).text == "hello"
